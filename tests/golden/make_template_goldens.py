# SPDX-License-Identifier: Apache-2.0
"""Writes the golden outputs of the template tests with Jinja2, which the chat templates of checkpoints are written for.

Usage: python3 tests/golden/make_template_goldens.py [FOLDER_OF_CHAT_TEMPLATES]
Needs jinja2. The environment is set up as transformers does it.
"""
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent

EXPRESSIONS = r"""
1 + 2 * 3
(1 + 2) * 3
7 // 2
-7 // 2
7 % 3
-7 % 3
7 / 2
2 ** 10
2 ** 3 ** 2
-2 ** 2
1.5 + 1
0.1 + 0.2
1e3
1_000
10 / 5
true
none
1 == 1.0
1 == true
"a" < "b"
1 < 2 < 3
1 < 3 < 2
(1 < 2) == true
not true
not not true
not 1 == 2
1 and 2
0 or "x"
"" or none or "last"
1 if true else 2
1 if false
"a" ~ 1 ~ none ~ true
"a" + "b" * 3
[1, 2] + [3]
[0] * 3
(1, 2)
(1,)
()
{"a": 1, "b": [1, 2.0, "x"]}
{"a": 1}["a"]
{"a": 1}.a
{"a": 1}.b
[1, 2, 3][0]
[1, 2, 3][-1]
[1, 2, 3][5]
[1, 2, 3, 4][1:3]
[1, 2, 3, 4][::-1]
[1, 2, 3, 4][-2:]
[1, 2, 3, 4][:-1]
[1, 2, 3, 4][3:0:-2]
"hello"[1:3]
"hello"[::-1]
"héllo"[1]
"héllo"|length
"abc"[7:]
"b" in "abc"
2 in [1, 2]
3 not in [1, 2]
"a" in {"a": 1}
x is defined
missing is defined
missing is not defined
none is none
"x" is string
1 is number
1.5 is float
true is boolean
true is integer
[] is iterable
{} is mapping
[] is sequence
3 is odd
4 is even
9 is divisibleby 3
9 is divisibleby(2)
1 is sameas 1
"a" is in ["a"]
5 is eq 5
"  x ".strip()
"xxaxx".strip("x")
"xxaxx".lstrip("x")
" a b  c ".split()
"a,b,c".split(",")
"a,b,c".split(",", 1)
"a,b,c".rsplit(",", 1)
"".split()
"".split(",")
"a b"|upper
"aBc".title()
"they're bill's".title()
"they're bill's (x-y)"|title
"heLLO wORLD"|capitalize
"abc".startswith("ab")
"abc".endswith(("x", "c"))
"a-b-c".replace("-", "+")
"a-b-c".replace("-", "+", 1)
"ab".replace("", "-")
"abc".find("c")
"héc".find("c")
"abc".find("x")
"abcabc".count("bc")
"abc".index("b")
",".join(["a", "b"])
"a\nb\r\nc".splitlines()
"a-b-c".partition("-")
"a-b-c".rpartition("-")
"abc".partition("-")
"abc".rpartition("-")
"abcabc".rindex("b")
"Hé WoRLD 1".swapcase()
"ab".ljust(5) ~ "|"
"ab".rjust(5, "*")
"ab".center(5, "*")
"abc".center(6, "é")
"abcdef".center(3)
"ab".center(-9223372036854775807 - 1)
"-1".zfill(-9223372036854775807 - 1)
"42".zfill(5)
"-42".zfill(5)
"+é".zfill(4)
"{} and {}".format(1, "b")
"{1}{0}{1} {{x}}".format("a", "b")
"{name}: {value}".format(name="n", value=[1])
[3, 1].copy()
"ab"|center(7) ~ "|"
"foo bar baz qux"|truncate(9)
"foo bar baz qux"|truncate(9, true)
"foo bar baz qux"|truncate(11)
"foo bar baz qux"|truncate(11, false, "…", 0)
"héllo wörld and more of it"|truncate(8, leeway=0)
"a b/c?d=é&x~"|urlencode
{"a b": "c/d", "e": 1}|urlencode
[["k", "v w"], ["x", none]]|urlencode
[1, 2, 3, 4, 5, 6, 7]|slice(3)|list
[1, 2, 3, 4, 5, 6, 7]|slice(3, 0)|list
[1, 2]|slice(3, fill_with="-")|list
"12".isdigit()
"abc".isalpha()
"prefix-x".removeprefix("prefix-")
{"a": 1, "b": 2}.items()|list
{"a": 1, "b": 2}.keys()|list
{"a": 1, "b": 2}.values()|list
{"a": 1}.get("a")
{"a": 1}.get("z")
{"a": 1}.get("z", 5)
[3, 1, 2]|sort
[3, 1, 2]|sort(reverse=true)
["b", "A", "c"]|sort
[1, 2, 3]|sum
[1, 2, 3]|first
[1, 2, 3]|last
[]|first
[1, 2, 3]|reverse|list
[1, 1, 2]|unique|list
[1, 5, 3]|max
[1, 5, 3]|min
["a", "b"]|join("-")
[1, 2]|join(", ")
[{"n": 1}, {"n": 2}]|map(attribute="n")|list
["a", "b"]|map("upper")|list
[1, 2, 3, 4]|select("odd")|list
[1, 2, 3, 4]|reject("odd")|list
[0, 1, "", "x"]|select|list
[{"n": 1}, {"n": 2}]|selectattr("n", "equalto", 2)|list
[{"n": 1}, {"m": 2}]|selectattr("n")|list
[{"n": 1}, {"m": 2}]|rejectattr("n", "defined")|list
[{"f": {"n": "x"}}]|map(attribute="f.n")|list
{"b": 1, "a": 2}|dictsort
{"b": 1, "a": 2}|dictsort(by="value")
{"b": 1}|items|list
[1, 2, 3]|batch(2)|list
[1, 2, 3]|batch(2, 0)|list
missing|default("d")
""|default("d")
""|default("d", true)
none|default("d")
"5"|int
"x"|int
"x"|int(7)
"3.7"|float
3.7|int
3.14159|round(2)
2.5|round
-5|abs
"a < b & 'c'"|escape
"a\nb"|indent(2)
"a\n\nb"|indent(2, true)
"%s has %d"|format("x", 3)
"%s-%s" % ("a", "b")
"%s" % 5
" a b c "|wordcount
[1, 2]|string
[1, "a'b", none, true, 1.0]|string
"it's"|list|length
["it's", "say \"x\""]|string
[1, {"a": "é\n\"<>"}]|tojson
{"b": 1, "a": [1, 2]}|tojson(indent=2)
{"b": 1, "a": 2}|tojson(sort_keys=true)
"é"|tojson(ensure_ascii=true)
1.0|tojson
none|tojson
range(3)|list
range(1, 6, 2)|list
range(3, 0, -1)|list
dict(a=1, b=2)
"a" "b"
"\x41\u00e9\t|"
'it\'s'
1e100
1.0
1e16
123456789.125
0.00001
"abc"|length > 2 and "yes"
x.y.z
x["y"].z
x.y["z"]
x.list[1].k
[x.y.z, x.list|length]
{"items": 1}["items"]
"A"|lower ~ "b"|upper
-3|abs
(-3)|abs
not x.none
x.none is none
x.none == none
x.none is defined
"abc"|list
"a"|trim ~ " b "|trim
"xay"|trim("xy")
"tEST"|lower|capitalize
[[1, 2], [3, 4]]|map("first")|list
[1, [2, [3]]]
[1, 2] == [1, 2]
(1, 2) == [1, 2]
{"a": 1} == {"a": 1.0}
[1, 2] < [1, 3]
1 != 2
"x" != 1
'a' in missing
missing|length
missing ~ "x"
'%d%%' % 5
1 in (1, 2)
"a" if x.y else "b"
"" if missing
("a", "b")|join
[true, false, none]|tojson
"tab\tnl\n\"q\" \\ /"|tojson
'\u2028 \x7f \x01'|tojson
""".strip().split("\n")

VARIABLES = {"x": {"y": {"z": "deep"}, "list": [{"k": 1}, {"k": 2}], "none": None}}

# Each begins with a line "#== name".
STATEMENTS = r"""
#== for with else
{% for x in [] %}{{ x }}{% else %}none{% endfor %}
#== for over dict items
{% for k, v in {"a": 1, "b": 2}.items() %}{{ k }}={{ v }};{% endfor %}
#== for over a text
{% for c in "héy" %}[{{ c }}]{% endfor %}
#== for with a condition
{% for x in range(6) if x is odd %}{{ loop.index }}:{{ x }}/{{ loop.length }} {% endfor %}
#== loop variables
{% for x in "abc" %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}
#== loop cycle
{% for x in range(4) %}{{ loop.cycle("odd", "even") }} {% endfor %}
#== nested loops have their own loop
{% for x in "ab" %}{% for y in "cd" %}{{ loop.index }}{{ x }}{{ y }} {% endfor %}{{ loop.index }};{% endfor %}
#== break and continue
{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}
#== unpacking
{% for (a, b), c in [((1, 2), 3), ((4, 5), 6)] %}{{ a + b + c }} {% endfor %}
#== if elif else
{% for x in range(4) %}{% if x == 0 %}zero{% elif x == 1 %}one{% elif x == 2 %}two{% else %}many{% endif %} {% endfor %}
#== set inside if is seen outside
{% if true %}{% set a = 1 %}{% endif %}{{ a }}
#== set inside for is not seen outside
{% set a = 0 %}{% for x in range(3) %}{% set a = a + 1 %}{{ a }}{% endfor %}{{ a }}
#== set in a loop does not reach the next turn
{% for x in range(3) %}{{ seen is defined }}{% set seen = true %} {% endfor %}
#== namespace carries out of a loop
{% set ns = namespace(n=0, last=none) %}{% for x in [3, 4] %}{% set ns.n = ns.n + x %}{% set ns.last = x %}{% endfor %}{{ ns.n }} {{ ns.last }}
#== several targets
{% set a, b = 1, "x" %}{{ a }}{{ b }}
#== set block
{% set a %}one {{ 1 + 1 }}{% endset %}[{{ a }}]
#== set block through filters
{% set a | trim | upper %}  one  {% endset %}[{{ a }}]
#== macro with defaults
{% macro m(a, b="B", c=a) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m("1") }}{{ m("1", "2", "3") }}{{ m("1", c="3") }}{{ m() }}
#== macro with more arguments
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}
#== macro sees globals of later
{% macro m() %}{{ g }}{% endmacro %}{% set g = 5 %}{{ m() }}
#== macro does not see the caller's loop
{% macro m() %}{{ x is defined }}{% endmacro %}{% for x in [1] %}{{ m() }}{% endfor %}
#== macro that calls itself
{% macro count(n) %}{{ n }}{% if n > 0 %} {{ count(n - 1) }}{% endif %}{% endmacro %}{{ count(5) }}
#== macro result is a text
{% macro m() %} x {% endmacro %}[{{ m()|trim }}]{{ m() ~ "y" }}{{ m().strip() }}
#== call block
{% macro box(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call box("b") %}in {{ 1 }}{% endcall %}
#== call block with arguments
{% macro each(items) %}{% for i in items %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(x) each([1, 2]) %}[{{ x }}]{% endcall %}
#== filter block
{% filter upper %}ab{{ "c" }}{% endfilter %}
#== with
{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
#== raw
{% raw %}{{ x }} {% if %}{% endraw %}!
#== comments
a{# gone {{ x }} #}b
#== generation is transparent
{% generation %}x{% endgeneration %}
#== trim_blocks takes one line end
{% if true %}
a
{% endif %}

b
#== trim_blocks leaves variables alone
{{ 1 }}
b
#== lstrip_blocks
  {% if true %}
  a
    {% endif %}
  b
#== lstrip_blocks leaves text before a tag alone
x {% if true %}a{% endif %}
#== plus keeps the blanks
  {%+ if true %}a{% endif %}
b
#== plus keeps the line end
{% if true +%}
a{% endif %}
#== minus takes all white space

  a  

{%- if true -%}

  b

{%- endif -%}

  c
#== minus on variables
a  {{- 1 -}}  b
#== comments trim too
  {# x #}
a
  {#- y -#}  
b
#== white space between tags
{% for x in [1, 2] %}

  {{ x }}
{% endfor %}
#== a tag after a tag on one line
{% if true %}  {% if true %}a{% endif %}  {% endif %}b
#== carriage returns
a
{% if true %}
b
{% endif %}
#== braces inside an expression
{{ {"a": {"b": 1}}["a"]["b"] }}{{ {} }}
#== strings with tags inside
{{ "{{ x }} %} }}" }}{{ '{% if %}' }}
#== the last line end goes
a

#== tests in conditions
{% for v in [1, "a", none, [1], {"k": 1}, true, 1.5] %}{% if v is string %}s{% elif v is boolean %}b{% elif v is number %}n{% elif v is none %}0{% elif v is mapping %}m{% elif v is iterable %}l{% endif %}{% endfor %}
#== conditional without else in a concatenation
{{ "a" ~ ("b" if false) ~ "c" }}
#== loop over sorted dict
{% for k, v in {"b": 1, "a": 2}|dictsort %}{{ k }}{{ v }}{% endfor %}
#== methods of entries win by subscript
{% set d = {"items": 5} %}{{ d["items"] }}{{ d.items is callable }}
#== undefined prints as nothing
[{{ missing }}][{{ {}.missing }}][{{ [1][4] }}]
#== a namespace from a dict
{% set ns = namespace({"a": 1}, b=2) %}{{ ns.a }}{{ ns.b }}
#== if with undefined
{% if missing %}a{% else %}b{% endif %}{% if not missing %}c{% endif %}
#== nested macros and loops
{% macro item(x) %}({{ x }}){% endmacro %}{% macro all(xs) %}{% for x in xs %}{{ item(x) }}{% if not loop.last %},{% endif %}{% endfor %}{% endmacro %}{{ all([1, 2, 3]) }}
#== slices of messages
{% set m = [{"r": 1}, {"r": 2}, {"r": 3}] %}{% for x in m[1:] %}{{ x.r }}{% endfor %}{% for x in m[::-1] %}{{ x["r"] }}{% endfor %}"""

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
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


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


def main():
    env = environment()
    write("template_expressions.json", {"variables": VARIABLES, "cases": [
        [e, env.from_string("{{ " + e + " }}").render(**VARIABLES)] for e in EXPRESSIONS]})
    statements = []
    for part in STATEMENTS.split("\n#== ")[1:]:
        name, _, source = part.partition("\n")
        statements.append([name, source, env.from_string(source).render()])
    write("template_statements.json", statements)
    if len(sys.argv) > 1:
        files = sorted(pathlib.Path(sys.argv[1]).glob("*.jinja"))
        write("chat_templates.json", {f.name: chat_cases(env.from_string(f.read_text(encoding="utf-8"))) for f in files})


if __name__ == "__main__":
    main()
