# SPDX-License-Identifier: Apache-2.0
"""Writes the golden outputs of the template tests with Jinja2, which the chat templates of checkpoints are written for.

Usage: python3 tests/golden/make_template_goldens.py [FOLDER_OF_CHAT_TEMPLATES]
Needs jinja2, and Python 3.12, whose Unicode (15.0) is that of ICU 72. The environment is set up as transformers does it. The cases
are the lines of template_expressions.txt and the parts of template_statements.txt, each behind a line "#== name"; where jinja2
raises, so must Lathe.
"""
import json
import pathlib
import sys
import unicodedata

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent

VARIABLES = {"x": {"y": {"z": "deep"}, "list": [{"k": 1}, {"k": 2}], "none": None}}

TOOLS = [{"function": {"description": "Get the <weather> & more", "name": "get_weather",
                       "parameters": {"properties": {"city": {"description": "City é", "type": "string"},
                                                     "n": {"enum": [1, 2], "type": "integer"}},
                                      "required": ["city"], "type": "object"}}, "type": "function"}]

CONVERSATIONS = [
    [("user", "Hi there")],
    [("system", "Be brief."), ("user", " What's 2+2? "), ("assistant", "4"), ("user", "thanks\n")],
    [("user", "a"), ("assistant", "<think>\nhmm\n</think>\n\nanswer"), ("user", "h\u00e9 {{ x }} <|im_end|>")],
    [("user", "a"), ("user", "b")],
    [("user", "q"), ("assistant", "a")],
]
OPTIONS = [{}, {"enable_thinking": False}, {"date_string": "01 Jan 2025", "tools": TOOLS}]


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    @staticmethod
    def _same(caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(_format):
    raise jinja2.exceptions.TemplateError("the date changes")


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return env


def write(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def render_chat(template, messages, generate, options):
    names = dict(bos_token="<BOS>", eos_token="<EOS>", unk_token="<UNK>", pad_token="<PAD>")
    variables = {"tools": None, "documents": None, **names, **options}
    try:
        return template.render(messages=messages, add_generation_prompt=generate, **variables)
    except Exception as error:  # a template may fail in any way that Python knows
        return None if "the date changes" not in str(error) else "skip"


def chat_cases(template):
    cases = []
    for conversation in CONVERSATIONS:
        for options in OPTIONS:
            generate = len(cases) % 3 != 2
            messages = [{"role": role, "content": content} for role, content in conversation]
            text = render_chat(template, messages, generate, options)
            if text != "skip":
                cases.append({"messages": messages, "add_generation_prompt": generate, "variables": options, "text": text})
    return cases


def rendered(env, source, variables):
    """The text; None when jinja2 refuses the template or its rendering."""
    try:
        return env.from_string(source).render(**variables)
    except Exception:  # a template may fail in any way that Python knows
        return None


def unprintable():
    """First and last of the code points that repr() escapes, one range behind the other. Surrogates are in no text."""
    ranges = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or chr(code).isprintable():
            continue
        if ranges and ranges[-1] == code - 1:
            ranges[-1] = code
        else:
            ranges += [code, code]
    return {"unicode": unicodedata.unidata_version, "ranges": ranges}


def main():
    env = environment()
    expressions = (HERE / "template_expressions.txt").read_text(encoding="utf-8").splitlines()
    write("template_expressions.json", {"variables": VARIABLES, "cases": [
        [e, rendered(env, "{{ " + e + " }}", VARIABLES)] for e in expressions]})
    statements = []
    for part in ("\n" + (HERE / "template_statements.txt").read_text(encoding="utf-8").removesuffix("\n")).split("\n#== ")[1:]:
        name, _, source = part.partition("\n")
        statements.append([name, source, rendered(env, source, {})])
    write("template_statements.json", statements)
    (HERE / "unprintable.json").write_text(json.dumps(unprintable()) + "\n", encoding="utf-8")
    if len(sys.argv) > 1:
        files = sorted(pathlib.Path(sys.argv[1]).glob("*.jinja"))
        write("chat_templates.json", {f.name: chat_cases(env.from_string(f.read_text(encoding="utf-8"))) for f in files})


if __name__ == "__main__":
    main()
