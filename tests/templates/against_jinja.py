#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chat templates through `lathe template`, and through jinja2 set up as transformers sets it up.

    against_jinja.py --lathe build/release/bin/lathe --shared ../shared [--only Qwen,GLM]

Needs: pip install jinja2. Every template of the shared folder is rendered with every conversation of CONVERSATIONS, with and
without the generation prompt; texts must be equal byte for byte, and where jinja2 errs, Lathe must. One row is one template:
"=" equal texts, "e" both err, "X" different. Exit code: 0 when nothing differs.
"""
import argparse
import collections
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

import jinja2
import jinja2.ext
import jinja2.sandbox

TOKENS = {"bos_token": "<BOS>", "eos_token": "<EOS>", "unk_token": "<UNK>", "pad_token": "<PAD>"}

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a place: <now> & \"later\", l'été, 天気.",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Name of the city"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14}}, "required": ["city"]}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Finds pages.",
    "parameters": {"type": "object", "properties": {
        "queries": {"type": "array", "items": {"type": "string"}, "description": "What to look for"},
        "filter": {"type": "object", "properties": {"site": {"type": "string"}, "since": {"type": "number"}}},
        "exact": {"type": "boolean"}}, "required": ["queries", "exact"]},
    "return": {"type": "array", "items": {"type": "string"}}}}
ODD = {"type": "function", "function": {"name": "odd", "parameters": {"type": "object", "properties": {
    "either": {"type": ["integer", "null"]}, "any": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "bare": {}}}}}
NOW = {"type": "function", "function": {"name": "now", "description": "The time.",
                                        "parameters": {"type": "object", "properties": {}, "required": []}}}


def call(identity, name, arguments):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def say(role, content, **more):
    return {"role": role, "content": content, **more}


ASKED = [say("user", "What is the weather in Paris?")]
CALLED = say("assistant", "", tool_calls=[call("abcdef123", "get_weather", {"city": "Paris", "days": 2})])
RESULT = say("tool", '{"celsius": 21.5, "sky": "clear & <bright>"}', tool_call_id="abcdef123", name="get_weather")
REASONED = say("assistant", "The answer is 4.", reasoning_content="Two and two.\nThat is four.")
TWO_CALLS = say("assistant", "I will look.", tool_calls=[
    call("abcdef123", "get_weather", {"city": "Zürich", "days": None, "unit": "celsius"}),
    call("abcdef456", "search", {"queries": ["a \"b\"", "日本"], "exact": True, "filter": {"site": "x.y", "since": 1e3}})])
TOOLS = [WEATHER, SEARCH, NOW]

# Name -> the variables of a rendering, without the generation prompt.
CONVERSATIONS = {
    "simple": {"messages": [say("user", "  Hello, <|im_end|> & 'you' \"there\"!\n")]},
    "system": {"messages": [say("system", "Be brief.\n"), say("user", "Grüße, 世界 😀")]},
    "multi-turn": {"messages": [say("system", "Be brief."), say("user", "One?"), say("assistant", " Two. "),
                                say("user", "Three?"), say("assistant", "Four.\n\n"), say("user", "Five?")]},
    "ends with an answer": {"messages": [say("user", "One?"), say("assistant", "Two.")]},
    "tools": {"messages": ASKED, "tools": TOOLS},
    "tools, system": {"messages": [say("system", "Use tools.")] + ASKED, "tools": TOOLS},
    "odd tool": {"messages": ASKED, "tools": [ODD]},
    "no tools": {"messages": ASKED, "tools": []},
    "tool result": {"messages": ASKED + [CALLED, RESULT], "tools": TOOLS},
    "tool results, then talk": {"messages": ASKED + [CALLED, RESULT, say("assistant", "Clear."), say("user", "Thanks")],
                                "tools": [WEATHER]},
    "two calls": {"messages": ASKED + [TWO_CALLS, RESULT, say("tool", "[]", tool_call_id="abcdef456", name="search"),
                                       say("assistant", "Done."), say("user", "More?")], "tools": TOOLS},
    "arguments as text": {"messages": ASKED + [say("assistant", None, tool_calls=[
        call("abcdef123", "get_weather", '{"city": "Paris"}')]), RESULT], "tools": [WEATHER]},
    "reasoning": {"messages": [say("user", "2 + 2?"), REASONED, say("user", "And 3 + 3?")]},
    "reasoning last": {"messages": [say("user", "2 + 2?"), REASONED]},
    "thinking in the text": {"messages": [say("user", "2 + 2?"), say("assistant", "<think>\nHm.\n</think>\n\n4."),
                                          say("user", "So?")]},
    "reasoning, tools": {"messages": ASKED + [dict(CALLED, reasoning_content="I need the weather."), RESULT],
                         "tools": TOOLS},
    "thinking off": {"messages": ASKED, "enable_thinking": False, "thinking": False},
    "thinking on": {"messages": ASKED, "enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    "parts": {"messages": [say("user", [{"type": "text", "text": "Part one. "}, {"type": "text", "text": "Part two."}])]},
    "documents": {"messages": ASKED, "documents": [{"title": "A", "text": "Alpha.", "doc_id": 1}]},
    "roles out of order": {"messages": [say("assistant", "First."), say("assistant", "Second."), say("user", "Third.")]},
    "unknown role": {"messages": [say("wizard", "Abracadabra."), say("user", "Hm.")]},
    "nothing": {"messages": []},
}


class Generation(jinja2.ext.Extension):
    """{% generation %}...{% endgeneration %}: a block that changes nothing, unless somebody wants the places of answers."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    @staticmethod
    def _same(caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class Raised(jinja2.exceptions.TemplateError):
    """What the template says itself: the same words on both sides."""


def raise_exception(message):
    raise Raised(message)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                        extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return made


def templates(shared):
    """Name and text of each."""
    for path in sorted((shared / "data/templates").glob("*.jinja")):
        yield path.stem, path.read_text(encoding="utf-8")
    for path in sorted((shared / "data/tokenizers/configs-only").glob("*/tokenizer_config.json")):
        text = json.loads(path.read_text(encoding="utf-8")).get("chat_template")
        if isinstance(text, str):
            yield "config of " + path.parent.name, text


def by_jinja(compiled, variables):
    """The text or the exception. As in transformers, tools and documents are always there, None where nobody gave them."""
    try:
        return compiled.render(**{"tools": None, "documents": None, **variables}), None
    except Exception as error:  # whatever a template makes Python raise is what its user would see
        return None, error


def by_lathe(lathe, text, renderings):
    """One run of the program a template, a line a rendering."""
    with tempfile.NamedTemporaryFile(suffix=".jinja") as file:
        file.write(text.encode())
        file.flush()
        lines = "".join(json.dumps({"tools": None, "documents": None, **one}) + "\n" for one in renderings)
        done = subprocess.run([lathe, "template", file.name], input=lines.encode(), capture_output=True, check=False)
    answers = [json.loads(line) for line in done.stdout.decode().splitlines() if line]
    if len(answers) != len(renderings):
        sys.exit(f"lathe template: {len(answers)} answers to {len(renderings)} lines: {done.stderr.decode()}")
    return answers


def difference(mine, theirs):
    at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    return f"at {at}: lathe {mine[max(0, at - 30):at + 60]!r}, jinja2 {theirs[max(0, at - 30):at + 60]!r}"


def compare(lathe, name, text, shown):
    renderings = [dict(TOKENS, **given, add_generation_prompt=prompt)
                  for given in CONVERSATIONS.values() for prompt in (False, True)]
    compiled = environment().from_string(text)
    answers = by_lathe(lathe, text, renderings)
    marks, wrong = "", []
    for i, (variables, answer) in enumerate(zip(renderings, answers)):
        expected, error = by_jinja(compiled, variables)
        same = answer.get("text") == expected and (not isinstance(error, Raised) or answer["error"] == str(error))
        marks += "X" if not same else "=" if expected is not None else "e"
        if same:
            continue
        case = list(CONVERSATIONS)[i // 2] + (", generation prompt" if i % 2 else "")
        if expected is not None and "text" in answer:
            wrong.append(f"  {case}: {difference(answer['text'], expected)}")
        else:
            wrong.append(f"  {case}: lathe {answer.get('error', 'gives a text')!r}, jinja2 {error or 'gives a text'!r}")
    print(f"{name[:44]:44} {marks}", flush=True)
    print("\n".join(wrong[:shown]), end="\n" if wrong else "", flush=True)
    return collections.Counter(marks)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="parts of the templates' names")
    parser.add_argument("--shown", type=int, default=5, help="differences told for each template")
    args = parser.parse_args()
    if not (args.shared / "data/templates").is_dir():
        print("skipped: needs ../shared/data")
        return 0
    total, n_templates = collections.Counter(), 0
    for name, text in templates(args.shared):
        if any(part in name for part in args.only.split(",")):
            total += compare(args.lathe, name, text, args.shown)
            n_templates += 1
    print(f"jinja2 {jinja2.__version__}: {n_templates} templates, {len(CONVERSATIONS)} conversations, with and without the "
          f"generation prompt: {total['=']} texts equal, {total['e']} err on both sides, {total['X']} differ")
    return 0 if n_templates > 0 and total["X"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
