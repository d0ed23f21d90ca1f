// SPDX-License-Identifier: Apache-2.0
// Mistakes in templates are named with their place.
#include <QTest>

#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace errors_test {

using lathe::tests::rendered;

class ErrorsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void mistakes_are_placed_data() {
    QTest::addColumn<QByteArray>("source");
    QTest::addColumn<QByteArray>("reason");
    QTest::addColumn<QByteArray>("place");
    const auto row = [](const char* name, const char* source, const char* reason, const char* place) {
      QTest::newRow(name) << QByteArray(source) << QByteArray(reason) << QByteArray(place);
    };
    row("open variable", "a\n {{ x", "not closed", "2:2");
    row("open comment", "{# x", "comment", "1:1");
    row("open string", "{{ 'x }}", "string is not closed", "1:4");
    row("open raw", "{% raw %}x", "endraw", "1:10");
    row("missing endif", "\n{% if x %}a", "endif", "2:11");
    row("missing endfor", "{% for x in y %}a", "endfor", "1:17");
    row("unknown statement", "x{% unless y %}", "unless", "1:2");
    row("endif alone", "{% endif %}", "endif", "1:1");
    row("unknown filter", "{{ 1|frobnicate }}", "frobnicate", "1:6");
    row("filter with more", "{{ 1|abs(1) }}", "\"abs\" takes no arguments", "1:6");
    row("filter with more than one", "{{ 'a'|trim('x', 'y') }}", "\"trim\" takes no more than 1 argument @", "1:8");
    row("filter with more than two", "{{ 1|round(1, 'ceil', 2) }}", "takes no more than 2 arguments", "1:6");
    row("filter with a name", "{{ 1|abs(a=1) }}", "\"abs\" takes no named arguments", "1:6");
    row("filter with another name", "{{ 1|round(a=1) }}", "no other names than \"precision method\"", "1:6");
    row("test with more", "{{ 1 is odd(1) }}", "\"odd\" takes no arguments", "1:6");
    row("unknown test", "\n\n{{ 1 is frobnicated }}", "frobnicated", "3:6");
    row("missing expression", "{{ }}", "expected an expression", "1:4");
    row("two values", "{{ 1 2 }}", "expected the end of the tag", "1:6");
    row("odd character", "{{ a ? b }}", "unexpected character", "1:6");
    row("wrong target", "{% set 1 = 2 %}", "name to assign", "1:8");
    row("call of a loop", "{% for x in [1] %}{{ loop([]) }}{% endfor %}", "marked recursive", "1:26");
    row("loop over nothing", "{% for x in [1] recursive %}{{ loop() }}{% endfor %}", "what to loop over", "1:36");
    row("loop over two", "{% for x in [1] recursive %}{{ loop([], []) }}{% endfor %}", "what to loop over", "1:36");
    row("cycle of nothing", "{{ cycler() }}", "needs items", "1:10");
    row("spread of a number", "{{ range(*5) }}", "loop over int", "1:11");
    row("spread of a list as a dict", "{{ dict(**[1]) }}", "** needs a dict, got list", "1:12");
    row("spread of a missing dict", "{{ dict(**x) }}", "\"x\" is undefined", "1:11");
    row("spread of numbers for names", "{{ dict(**{1: 2}) }}", "texts for keys, got int", "1:");
    row("spread of a name twice", "{{ dict(a=1, **{'a': 2}) }}", "\"a\" is given twice", "1:");
    row("two spreads", "{{ f(*x, *y) }}", "end of the arguments", "1:10");
    row("name behind a spread dict", "{{ f(**x, y=1) }}", "after **", "1:11");
    row("value behind a spread list", "{{ f(*x, 1) }}", "named argument", "1:10");
    row("macro with more", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "takes no more than 1 argument @", "1:35");
    row("macro with another name", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "no argument \"b\"", "1:35");
    row("macro without a caller", "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", "\"caller\"", "1:");
    row("block twice", "{% block a %}{% endblock %}\n{% block a %}{% endblock %}", "\"a\" appears twice", "2:");
    row("escaping by itself", "{% autoescape true %}{% endautoescape %}", "autoescape", "1:15");
    row("group by nothing", "{{ []|groupby }}", "needs an attribute", "1:7");
    row("group by what is missing", "{{ [{'a': 1}, {}]|groupby('a') }}", "order", "1:");
    row("percent with too few", "{{ '%s %s' % 'a' }}", "needs more values", "1:12");
    row("percent with too many", "{{ '%s' % (1, 2) }}", "does not use all", "1:9");
    row("percent of a text as a number", "{{ '%d' % 'a' }}", "needs a number, got str", "1:9");
    row("percent of a missing name", "{{ '%(b)s' % {'a': 1} }}", "finds no \"b\"", "1:12");
    row("percent of a kind", "{{ '%y' % 1 }}", "unknown kind \"%y\"", "1:9");
    row("fields in and out of order", "{{ '{} {0}'.format(1) }}", "cannot be combined", "1:19");
    row("field with a bad specification", "{{ '{:huh}'.format(1) }}", "\"huh\" is not understood", "1:19");
    row("field of a list with a width", "{{ '{:5}'.format([1]) }}", "list takes no specification", "1:17");
    row("wrap to nothing", "{{ 'a'|wordwrap(0) }}", "at least 1", "1:8");
    row("attribute with a blank", "{{ {'a b': 1}|xmlattr }}", "\"a b\" is not a name", "1:15");
    row("round by guess", "{{ 1|round(0, 'guess') }}", "common, ceil or floor", "1:6");
    row("round to 65 bits", "{{ 9223372036854775807|round(-1) }}", "fit into 64 bits", "1:24");
    row("round to less than 64 bits", "{{ (-9223372036854775807)|round(-3) }}", "fit into 64 bits", "1:");
    row("round to more than 64 bits", "{{ (-5000000000000000001)|round(-19) }}", "fit into 64 bits", "1:");
    row("size of a text", "{{ 'x'|filesizeformat }}", "needs a number", "1:8");
    row("integer of undefined", "{{ x|int }}", "\"x\" is undefined", "1:6");
    row("attribute of undefined", "{{ a.b }}", "\"a\" is undefined", "1:5");
    row("attribute of missing entry", "{% set d = {} %}\n{{ d.x.y }}", "\"x\" is undefined", "2:7");
    row("call of undefined", "{{ f() }}", "\"f\" is undefined", "1:5");
    row("call of a text", "{{ 'a'() }}", "cannot call str", "1:7");
    row("adding kinds", "{{ 'a' + 1 }}", "str and int", "1:8");
    row("adding undefined", "{{ 'a' + x }}", "\"x\" is undefined", "1:8");
    row("ordering kinds", "{{ 'a' < 1 }}", "order", "1:8");
    row("looping over a number", "{% for x in 5 %}{% endfor %}", "loop over int", "1:13");
    row("wrong number of names", "{% for a, b in [1] %}{% endfor %}", "int", "1:");
    row("field of a dict", "{% set d = {} %}{% set d.x = 1 %}", "namespace", "1:");
    row("break outside", "{% break %}", "inside a loop", "1:1");
    row("slice with step 0", "{{ [1][::0] }}", "step 0", "1:7");
    row("JSON of undefined", "{{ x|tojson }}", "undefined", "1:6");
    row("JSON of a function", "{{ range|tojson }}", "JSON", "1:10");
    row("split by nothing", "{{ 'a'.split('') }}", "separator", "1:13");
    row("index of nothing", "{{ 'a'.index('b') }}", "not found", "1:13");
    row("last index of nothing", "{{ 'a'.rindex('b') }}", "not found", "1:14");
    row("partition by nothing", "{{ 'a'.partition('') }}", "separator", "1:17");
    row("fill of two", "{{ 'a'.ljust(3, '--') }}", "one character", "1:13");
    row("format without an argument", "{{ '{} {}'.format(1) }}", "argument 1 is missing, there are 1", "1:18");
    row("format without a name", "{{ '{a}'.format(1) }}", "no argument \"a\"", "1:16");
    row("format with a single brace", "{{ 'x}'.format(1) }}", "single brace", "1:15");
    row("format of a part with no name", "{{ '{0.}'.format(1) }}", "empty part", "1:17");
    row("format with a fill twice", "{{ '{0:{1:{2}}}'.format(1, 2, 3) }}", "nested too deeply", "1:24");
    row("truncate to less than its end", "{{ 'abc'|truncate(2) }}", "length", "1:10");
    row("slice into nothing", "{{ [1]|slice(0) }}", "at least one", "1:8");
    row("urlencode of singles", "{{ [[1]]|urlencode }}", "pairs", "1:10");
    row("raise_exception", "{{ raise_exception('roles must alternate') }}", "roles must alternate", "");
  }
  void mistakes_are_placed() {
    QFETCH(QByteArray, source);
    QFETCH(QByteArray, reason);
    QFETCH(QByteArray, place);
    const QByteArray text = QByteArray::fromStdString(rendered(source.toStdString()));
    QVERIFY2(text.startsWith("error: "), text.constData());
    QVERIFY2(text.contains(reason), text.constData());
    QVERIFY2(text.contains("@ " + place), text.constData());
  }
  void L1_every_prefix_of_a_template_is_read_or_refused() {
    const std::string source =
        "{%- macro m(a, b=[1, {'k': 'v'}]) -%}{{ (a|default('x'))[0:1] ~ b }}{%- endmacro -%}{# c #}{% raw %}{{{% endraw %}"
        "{% for k, v in {'a': 1}.items() if k is not none %}{{ m(k) if v > 0 else loop.index }}{% endfor %}!";
    for (std::size_t n = 0; n <= source.size(); ++n) rendered(source.substr(0, n));
    QCOMPARE(QByteArray::fromStdString(rendered(source)), QByteArray("{{a[1, {'k': 'v'}]!"));
  }
  void odd_bytes_never_crash() {
    const std::string source = "{% if a == 'b' %}{{ c|join(', ') }}{% else %}{{ [1, 2][::-1] }}{% endif %}";
    for (std::size_t i = 0; i < source.size(); ++i) {
      for (const char c : {'{', '}', '%', '\'', '(', ')', '|', '\\', '\n', '\0', '\xC3'}) {
        std::string changed = source;
        changed[i] = c;
        rendered(changed);
      }
    }
    QVERIFY(rendered(source).starts_with("[2, 1]"));
  }
};

LATHE_TEST(ErrorsTest)

}  // namespace errors_test
#include "errors_test.moc"
