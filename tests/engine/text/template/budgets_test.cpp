// SPDX-License-Identifier: Apache-2.0
// Robustness rows T1 to T3 for what calls itself, keeps a state or writes to a width: each ends with an error in time.
#include <QTest>
#include <ctime>

#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace budgets_test {

using lathe::engine::Json;
using lathe::engine::jinja::Limits;
using lathe::tests::rendered;

namespace {

/// CPU time, not wall-clock time, which also passes while a busy machine does other things.
double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

}  // namespace

class BudgetsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void refused_in_time_data() {
    QTest::addColumn<QByteArray>("source");
    QTest::addColumn<QByteArray>("reason");
    const auto row = [](const char* name, const QByteArray& source, const char* reason) {
      QTest::newRow(name) << source << QByteArray(reason);
    };
    row("T1 a loop that calls itself with itself", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "nested");
    row("T1 a loop that grows", "{% for x in [1, 2] recursive %}{{ loop([x, x, x]) }}{% endfor %}", "nested");
    row("T1 a loop and a macro that call each other",
        "{% macro m(f) %}{{ f([1]) }}{% endmacro %}{% for x in [1] recursive %}{{ m(loop) }}{% endfor %}", "nested");
    row("T1 a macro that spreads its arguments to itself",
        "{% macro m() %}{{ m(*varargs, **kwargs) }}{% endmacro %}{{ m(1, 2, a=3) }}", "nested");
    row("T1 a filter that runs itself", "{{ 'a'|map(" + QByteArray("'map',").repeated(5000) + "'upper') }}", "nested");
    row("T3 arguments of a filter that runs itself", "{{ 'a'|map(" + QByteArray("'map',").repeated(150000) + "'upper') }}",
        "steps");
    row("T3 a filter that runs itself as often as a list is long", "{{ 'a'|map(*(['map'] * 100000)) }}", "1000 items");
    row("T3 a chain of loops",
        "{% set ns = namespace(v=0) %}{% for i in range(100000) %}{% for x in [ns.v, 1] recursive %}"
        "{% if loop.last %}{% set ns.v = loop %}{% endif %}{% endfor %}{% endfor %}",
        "deeper");
    row("T3 a chain of cyclers",
        "{% set ns = namespace(v=0) %}{% for i in range(100000) %}{% set ns.v = cycler(ns.v) %}{% endfor %}", "deeper");
    row("T3 a chain of cyclers' methods",
        "{% set ns = namespace(v=0) %}{% for i in range(100000) %}{% set ns.v = cycler(ns.v).next %}{% endfor %}", "deeper");
    row("T3 a chain of joiners",
        "{% set ns = namespace(v=0) %}{% for i in range(100000) %}{% set ns.v = joiner(ns.v) %}{% endfor %}", "deeper");
    row("T3 a chain of groups",
        "{% set ns = namespace(v=[[0]]) %}{% for i in range(100000) %}"
        "{% set ns.v = ns.v|groupby(0, default=0) %}{% endfor %}",
        "deeper");
    row("T3 many cyclers",
        "{% for i in range(100000) %}{% for j in range(100000) %}{% set c = cycler(1) %}{% endfor %}{% endfor %}", "steps");
    row("T3 cyclers of much", "{% set l = range(1000) %}{% for i in range(100000) %}{% set c = cycler(*l) %}{% endfor %}",
        "steps");
    row("T3 spreading much",
        "{% macro m() %}{{ varargs|length }}{% endmacro %}{% set l = range(1000) %}"
        "{% for i in range(100000) %}{{ m(*l) }}{% endfor %}",
        "steps");
    row("T3 spreading more", "{{ '{}'.format(*range(1001)) }}", "1000 items");
    row("T3 spreading many names",
        "{% set ns = namespace(d=[]) %}{% for i in range(1200) %}{% set ns.d = ns.d + [['k' ~ i, i]] %}{% endfor %}"
        "{{ dict(**dict(ns.d)) }}",
        "1000 entries");
    row("T3 a width in a field", "{{ '{:999999999999}'.format(1) }}", "bytes");
    row("T3 a width in a field beyond 64 bits", "{{ '{:99999999999999999999}'.format(1) }}", "too large");
    row("T3 a width of zeros", "{{ '{:0999999999}'.format(1) }}", "bytes");
    row("T3 a width of groups", "{{ '{:0999999999,}'.format(1) }}", "too large");
    row("T3 a precision", "{{ '{:.999999999f}'.format(1.5) }}", "precision");
    row("T3 a precision of %", "{{ '%.99999f' % 1.5 }}", "precision");
    row("T3 a width of %", "{{ '%99999999s' % 1.5 }}", "bytes");
    row("T3 a width of % beyond 64 bits", "{{ '%99999999999999999999s' % 1.5 }}", "too large");
    row("T3 a width of % from the values", "{{ '%*d' % (9223372036854775807, 1) }}", "too large");
    row("T3 a width of % below all numbers", "{{ '%*d' % (-9223372036854775807 - 1, 1) }}", "too large");
    row("T3 a precision of % below all numbers", "{{ '%.*f' % (-9223372036854775807 - 1, 1.5) }}", "too large");
    row("T3 tabs", "{{ ('\t' * 1000000).expandtabs(1000000) }}", "bytes");
    row("T3 a tab", "{{ '\t'.expandtabs(9223372036854775807) }}", "bytes");
    row("T3 slices of nothing", "{{ [1]|slice(1000000000) }}", "steps");
    row("T3 a batch filled up", "{{ [1]|batch(1000000000, 0) }}", "steps");
    row("T3 wrapping a long text", "{% set a = 'a-b ' * 4000000 %}{{ a|wordwrap(5) }}", "steps");
    row("T3 wrapping with a long line end",
        "{% set a = 'x ' * 100000 %}{% set e = 'y' * 100000 %}{{ a|wordwrap(1, true, e) }}", "bytes");
    row("T3 escaping", "{{ ('<' * 8000000)|forceescape }}", "bytes");
  }
  void refused_in_time() {
    QFETCH(QByteArray, source);
    QFETCH(QByteArray, reason);
    const std::clock_t start = std::clock();
    const QByteArray text = QByteArray::fromStdString(rendered(source.toStdString()).substr(0, 300));
    QVERIFY2(text.startsWith("error: "), text.constData());
    QVERIFY2(text.contains(reason), text.constData());
    QVERIFY2(seconds_since(start) < 30, "it took more than 30 s of the processor");  // under a sanitizer
  }

  void T3_new_filters_are_paid_for_data() {
    QTest::addColumn<QString>("expression");
    for (const char* expression : {"a|wordcount",
                                   "a|wordwrap(100)",
                                   "a|striptags",
                                   "a|forceescape",
                                   "[a]|groupby(0)",
                                   "{'k': a}|xmlattr",
                                   "a is upper",
                                   "a.isprintable()",
                                   "a.istitle()",
                                   "a.casefold()",
                                   "a.expandtabs()",
                                   "a.find('y', 1)",
                                   "a.count('x', 5)",
                                   "a.rsplit(none, 1)",
                                   "'%s' % a",
                                   "'%.5s' % a",
                                   "'{:>5}'.format(a)",
                                   "'{!r}'.format(a)",
                                   "'{k}'.format_map({'k': a})",
                                   "a|int",
                                   "a|float"}) {
      QTest::newRow(expression) << expression;
    }
  }
  void T3_new_filters_are_paid_for() {
    QFETCH(QString, expression);
    Limits limits;
    limits.max_steps = 200'000;
    const std::string source =
        "{% set a = 'x' * 1000000 %}{% for i in range(100) %}{% set t = " + expression.toStdString() + " %}{% endfor %}";
    const std::string text = rendered(source, Json::object(), limits);
    QVERIFY2(text.find("200000 steps") != std::string::npos, text.substr(0, 300).c_str());
  }

  /// Data that is kept until the end of the rendering or of a filter costs more steps than temporary data.
  void T3_what_stays_is_paid_for() {
    Limits limits;
    limits.max_steps = 10'000;
    std::string arguments;
    for (int i = 0; i < 6000; ++i) arguments += "'odd',";
    for (const std::string& source :
         {std::string("{% for i in range(1000) %}{% for x in [] recursive %}{% endfor %}{% endfor %}"),
          std::string("{% for i in range(1000) %}{% macro m() %}{% endmacro %}{% endfor %}"),
          std::string("{{ ([{}] * 100)|sort(attribute=',,,,,,,,,,,,,,,,,,,') }}"),
          "{{ [1]|map(" + arguments + "attribute='a') }}", "{{ [1]|select(" + arguments + "'odd') }}"}) {
      const std::string text = rendered(source, Json::object(), limits);
      QVERIFY2(text.find("10000 steps") != std::string::npos, (source.substr(0, 80) + ": " + text.substr(0, 300)).c_str());
    }
    QCOMPARE(rendered("{% for i in range(1000) %}{% for x in [] %}{% endfor %}{% endfor %}", Json::object(), limits),
             std::string());
  }
  /// A scope is kept once, however many loops begin in it one after the other.
  void a_scope_is_kept_once() {
    std::string source;
    for (int i = 0; i < 1000; ++i) source += "{% for x in [] recursive %}{% endfor %}";
    Limits limits;
    limits.max_steps = 10'000;
    QCOMPARE(rendered(source, Json::object(), limits), std::string());
  }

  void T1_moderate_recursion_of_loops_works() {
    const int depth = std::string(LATHE_SANITIZERS).empty() ? 40 : 10;
    Json tree = Json::array();
    for (int i = 0; i < depth; ++i) tree = Json::array({tree});
    const std::string source = "{% for x in t recursive %}{{ loop.depth }} {{ loop(x) }}{% endfor %}";
    std::string expected;
    for (int i = 1; i <= depth; ++i) expected += std::to_string(i) + " ";
    QCOMPARE(rendered(source, {{"t", tree}}), expected);
  }
  /// Loops, cyclers and what they were given may hold one another in circles; a leak is for the sanitizer to tell.
  void circles_come_apart_at_the_end() {
    for (const char* source :
         {"{% for x in [1, 2] %}{{ loop.changed(loop) }}{% endfor %}",
          "{% set ns = namespace() %}{% for x in [1, 2] recursive %}{% set ns.l = loop %}{% endfor %}{% set y = ns.l %}",
          "{% set ns = namespace() %}{% set ns.c = cycler(ns) %}{{ ns.c.next() is sameas(ns) }}",
          "{% set ns = namespace() %}{% for x in [[1]] recursive %}{% macro m() %}{{ loop }}{% endmacro %}{% set ns.m = m "
          "%}{% endfor %}"}) {
      const std::string text = rendered(source);
      QVERIFY2(!text.starts_with("error: "), text.c_str());
    }
  }
  /// Objects that are no dicts go through every filter and test that looks into dicts.
  void objects_are_no_dicts() {
    for (const char* object : {"namespace(a=1)", "cycler(1)", "loop", "joiner()", "range", "[1].index"}) {
      for (const char* use : {"|urlencode",
                              "|xmlattr",
                              "|items",
                              "|dictsort",
                              "|tojson",
                              "|length",
                              "|list",
                              "|groupby(0)",
                              "|sort",
                              "|join",
                              "|map('upper')|list",
                              "|attr('a')",
                              "|string",
                              " is mapping",
                              " is iterable",
                              " == 1",
                              " in [1]",
                              "[0]",
                              ".a",
                              "|first",
                              "|sum",
                              "|unique",
                              "|batch(2)",
                              "|replace('a', 'b')",
                              "|format(1)",
                              "|int",
                              "|default(1)"}) {
        rendered(std::string("{% for x in [1] %}{{ ") + object + use + " }}{{ 1 if 1 in " + object + " }}{% endfor %}");
      }
      const auto used = [&](const char* use) {
        return rendered(std::string("{% for x in [1] %}{{ ") + object + use + " }}{% endfor %}");
      };
      for (const char* use : {"|xmlattr", "|items|list", "|dictsort", "|tojson"})
        QVERIFY2(used(use).starts_with("error: "), (std::string(object) + use + ": " + used(use)).c_str());
      QCOMPARE(used(" is mapping"), std::string("False"));
    }
    QCOMPARE(rendered("{{ namespace(a=1)|urlencode }}"), std::string("%3CNamespace%3E"));
  }
  void a_loop_that_is_over_remembers_nothing() {
    const std::string text = rendered(
        "{% set ns = namespace() %}{% for x in [1] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}{{ ns.l.changed(1) "
        "}}");
    QVERIFY2(text.starts_with("error: changed() belongs inside its loop"), text.c_str());
  }
  void many_names_of_blocks_are_no_burden() {
    std::string source;
    for (int i = 0; i < 20'000; ++i) source += "{% block b" + std::to_string(i) + " %}{% endblock %}";
    const std::clock_t start = std::clock();
    QCOMPARE(rendered(source), std::string());
    QVERIFY(seconds_since(start) < 20);
  }
};

LATHE_TEST(BudgetsTest)

}  // namespace budgets_test
#include "budgets_test.moc"
