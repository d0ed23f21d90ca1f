// SPDX-License-Identifier: Apache-2.0
// Mistakes in templates are named with their place.
#include <QTest>

#include "tests/support/template_render.h"

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
    row("unknown test", "\n\n{{ 1 is frobnicated }}", "frobnicated", "3:6");
    row("missing expression", "{{ }}", "expected an expression", "1:4");
    row("two values", "{{ 1 2 }}", "expected the end of the tag", "1:6");
    row("odd character", "{{ a ? b }}", "unexpected character", "1:6");
    row("wrong target", "{% set 1 = 2 %}", "name to assign", "1:8");
    row("recursive loop", "{% for x in y recursive %}{% endfor %}", "recursive", "1:15");
    row("spread", "{{ f(*x) }}", "spreading", "1:6");
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
    row("format of a part", "{{ '{0.a}'.format(1) }}", "\"0.a\"", "1:18");
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

QTEST_GUILESS_MAIN(ErrorsTest)
#include "errors_test.moc"
