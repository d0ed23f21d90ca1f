// SPDX-License-Identifier: Apache-2.0
// Templates made to hang, to overflow or to reach out: each ends with an error.
#include <pthread.h>

#include <QTest>
#include <thread>

#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace limits_test {

using lathe::engine::Json;
using lathe::engine::jinja::Limits;
using lathe::tests::rendered;

namespace {

std::string repeated(const std::string& text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}
bool refused(const std::string& source) { return rendered(source).starts_with("error: "); }
bool refused_for(const std::string& source, const std::string& reason) {
  const std::string text = rendered(source);
  if (text.starts_with("error: ") && text.find(reason) != std::string::npos) return true;
  qWarning("%s", text.substr(0, 300).c_str());
  return false;
}

/// A sanitizer's frames are several times as large and reach the bound sooner.
const int kFrameSize = std::string(LATHE_SANITIZERS).empty() ? 1 : 4;

/// Runs on a thread with 512 KiB of stack.
template <class Job>
void on_small_stack(Job work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The thread sanitizer keeps what it knows of a thread on that thread's stack.
  const std::size_t own = std::string(LATHE_SANITIZERS) == "thread" ? 4 << 20 : 0;
  pthread_attr_setstacksize(&attributes, 512 * 1024 + own);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<Job*>(argument))();
    return nullptr;
  };
  const int started = pthread_create(&thread, &attributes, run, &work);
  pthread_attr_destroy(&attributes);
  QCOMPARE(started, 0);
  pthread_join(thread, nullptr);
}

}  // namespace

class LimitsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void T1_a_macro_that_calls_itself_ends() {
    on_small_stack([] {
      QVERIFY(refused_for("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested"));
      QVERIFY(
          refused_for("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", "nested"));
    });
  }
  void T1_moderate_recursion_works() {
    const int depth = 48 / kFrameSize;
    const std::string source =
        "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{% endif %}x{% endmacro %}{{ m(" + std::to_string(depth) + ") }}";
    on_small_stack([&] { QCOMPARE(rendered(source).size(), static_cast<std::size_t>(depth + 1)); });
  }
  void T1_statements_that_reach_out_are_unknown() {
    for (const char* tag :
         {"include 'x'", "import 'x' as y", "extends 'x'", "from 'x' import y", "do x", "autoescape true"}) {
      QVERIFY2(refused_for(std::string("{% ") + tag + " %}", "not supported"), tag);
    }
  }
  void T2_deep_nesting_is_refused_while_parsing_data() {
    QTest::addColumn<int>("n");
    for (const int n : {150, 1000, 100'000}) QTest::addRow("%d", n) << n;
  }
  void T2_deep_nesting_is_refused_while_parsing() {
    QFETCH(int, n);
    on_small_stack([n] {
      QVERIFY(refused("{{ " + repeated("(", n) + "1" + repeated(")", n) + " }}"));
      QVERIFY(refused("{{ " + repeated("[", n) + repeated("]", n) + " }}"));
      QVERIFY(refused("{{ " + repeated("{'a':", n) + "1" + repeated("}", n) + " }}"));
      QVERIFY(refused("{{ " + repeated("not ", n) + "1 }}"));
      QVERIFY(refused("{{ " + repeated("-", n) + "1 }}"));
      QVERIFY(refused("{{ " + repeated("f(", n) + repeated(")", n) + " }}"));
      QVERIFY(refused("{{ " + repeated("a[", n) + "0" + repeated("]", n) + " }}"));
      QVERIFY(refused(repeated("{% if 1 %}", n) + repeated("{% endif %}", n)));
      QVERIFY(refused(repeated("{% for x in y %}", n) + repeated("{% endfor %}", n)));
      QVERIFY(refused("{% for " + repeated("(", n) + "a" + repeated(")", n) + " in y %}{% endfor %}"));
    });
  }
  void T2_long_chains_are_refused_or_flat() {
    on_small_stack([] {
      QVERIFY(refused("{{ 1" + repeated(" + 1", 100'000) + " }}"));
      QVERIFY(refused("{{ a" + repeated(".a", 100'000) + " }}"));
      QVERIFY(refused("{{ a" + repeated("|trim", 100'000) + " }}"));
      QVERIFY(refused("{{ 1" + repeated(" if 1 else 1", 100'000) + " }}"));
      QCOMPARE(rendered("{{ 1" + repeated(" ~ 1", 10'000) + " }}").size(), std::size_t{10'001});
      QCOMPARE(rendered("{{ 1" + repeated(" + 1", 200 / kFrameSize) + " }}"), std::to_string(200 / kFrameSize + 1));
      QCOMPARE(rendered("{% if 0 %}" + repeated("{% elif 0 %}", 10'000) + "{% else %}x{% endif %}"), std::string("x"));
    });
  }
  void T3_range_is_bounded() {
    QVERIFY(refused_for("{% for x in range(10**9) %}{% endfor %}", "range()"));
    QVERIFY(refused_for("{{ range(100001)|length }}", "range()"));
    QCOMPARE(rendered("{{ range(100000)|length }}"), std::string("100000"));
    QCOMPARE(rendered("{{ range(9223372036854775806, 9223372036854775807)|length }}"), std::string("1"));
  }
  void T3_nested_loops_run_out_of_steps() {
    QVERIFY(refused_for("{% for x in range(25000) %}{% for y in range(25000) %}{% endfor %}{% endfor %}", "steps"));
  }
  void T3_texts_cannot_grow_without_bound() {
    QVERIFY(refused_for("{{ 'x' * 10**9 }}", "bytes"));
    QVERIFY(refused_for("{{ 'x' * 10**18 }}", "bytes"));
    QVERIFY(refused_for(
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "bytes"));
    QVERIFY(refused("{% set s = 'x' * 1000000 %}{% for i in range(1000) %}{{ s }}{% endfor %}"));
    QVERIFY(refused("{% set s = 'x' * 1000000 %}{{ ([s] * 100)|join }}"));
  }
  void T3_replacing_cannot_grow_a_text_without_bound() {
    QVERIFY(
        refused("{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s.replace('x', 'xx') %}{% "
                "endfor %}"));
  }
  void T3_lists_cannot_grow_without_bound() {
    QVERIFY(refused("{{ ([0] * 10**9)|length }}"));
    QVERIFY(refused("{% set ns = namespace(l=[0]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}"));
    QVERIFY(refused_for("{% set l = [] %}{% for i in range(10) %}{% set _ = l.append(l) %}{% endfor %}", "cannot change"));
  }
  void T3_values_cannot_nest_without_bound() {
    on_small_stack([] {
      QVERIFY(refused_for("{% set ns = namespace(l=[]) %}{% for i in range(10000) %}{% set ns.l = [ns.l] %}{% endfor %}",
                          "deeper"));
      QVERIFY(refused_for(
          "{% set ns = namespace(l={}) %}{% for i in range(10000) %}{% set ns.l = {'a': ns.l} %}{% endfor %}", "deeper"));
    });
  }
  /// A chain of values must be recognised as deep, whatever its links are.
  void T3_no_chain_of_values_grows_without_bound_data() {
    QTest::addColumn<QString>("source");
    QTest::newRow("bound methods") << "{% set ns = namespace(v=0) %}{% for i in range(100000) %}"
                                      "{% set ns.v = [ns.v].index %}{% endfor %}";
    QTest::newRow("methods of dicts") << "{% set ns = namespace(v=0) %}{% for i in range(100000) %}"
                                         "{% set ns.v = {'a': ns.v}.get %}{% endfor %}";
    QTest::newRow("loops") << "{% set ns = namespace(v=0) %}{% for i in range(100000) %}{% for x in [ns.v, 1] %}"
                              "{% if loop.last %}{% set ns.v = loop %}{% endif %}{% endfor %}{% endfor %}";
    QTest::newRow("copies of a namespace") << "{% set ns = namespace(v=0) %}{% for i in range(100000) %}"
                                              "{% set ns.v = dict(ns) %}{% endfor %}";
  }
  void T3_no_chain_of_values_grows_without_bound() {
    QFETCH(QString, source);
    on_small_stack([&] { QVERIFY(refused_for(source.toStdString(), "deeper")); });
  }
  void a_copy_of_a_namespace_is_a_dict() {
    QCOMPARE(rendered("{% set ns = namespace(a=1) %}{% set d = dict(ns, b=2) %}{{ d }}"), std::string("{'a': 1, 'b': 2}"));
    QVERIFY(refused_for("{% set ns = namespace() %}{% set d = dict(ns) %}{% set d.x = 1 %}", "only fields of a namespace"));
  }
  void T3_texts_of_values_are_paid_for_as_they_are_written() {
    const std::string big = "{% set a = 'x' * 16000000 %}";
    QVERIFY(refused_for(big + "{{ [a] * 1000 }}", "bytes"));
    QVERIFY(refused_for(big + "{{ ([a] * 1000)|string|length }}", "bytes"));
    QVERIFY(refused_for(big + "{{ '%s' % [[a] * 1000] }}", "bytes"));
    QVERIFY(refused_for(big + "{{ '' ~ ([a] * 1000) }}", "bytes"));
    QVERIFY(refused_for(big + "{{ ([a] * 1000)|tojson }}", "bytes"));
    QVERIFY(refused_for("{% set a = '\x01' * 4500000 %}{{ [a] }}", "bytes"));  // \x01 is written as four bytes
    const std::string shared =
        "{% set ns = namespace(a=[0]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}";
    QVERIFY(refused(shared + "{{ ns.a }}"));
    QVERIFY(refused(shared + "{% set t = ns.a|string %}"));
  }
  void T3_comparing_is_paid_for() {
    Limits limits;
    limits.max_steps = 200'000;
    const std::string twins =
        "{% set ns = namespace(a=[0], b=[0]) %}{% for i in range(60) %}"
        "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
    for (const char* test :
         {"ns.a == ns.b", "ns.a != ns.b", "ns.a < ns.b", "ns.a in [ns.b]", "[ns.b].index(ns.a)", "[ns.b].count(ns.a)",
          "[ns.a, ns.b]|unique|list", "[ns.a, ns.b]|sort", "[ns.a, ns.b]|max", "ns.a is eq(ns.b)", "{ns.a: 1}[ns.b]"}) {
      const std::string text = rendered(twins + "{% set t = " + test + " %}", Json::object(), limits);
      QVERIFY2(text.find("200000 steps") != std::string::npos, test);
    }
    QCOMPARE(rendered("{% set ns = namespace(a=[0]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}"
                      "{{ ns.a == ns.a }}"),
             std::string("True"));  // the same list needs no look
  }
  void T3_methods_of_texts_are_paid_for_data() {
    QTest::addColumn<QString>("expression");
    for (const char* expression : {"a.upper()",
                                   "a.lower()",
                                   "a.title()",
                                   "a.capitalize()",
                                   "a.strip()",
                                   "a.lstrip('y')",
                                   "a.rstrip('y')",
                                   "a.find('y')",
                                   "a.rfind('y')",
                                   "a.count('y')",
                                   "a.replace('y', 'z')",
                                   "a.removeprefix('x')",
                                   "a.removesuffix('x')",
                                   "a.isdigit()",
                                   "a.isalpha()",
                                   "a.islower()",
                                   "a.split('y')",
                                   "a.rsplit('y')",
                                   "a.splitlines()",
                                   "a|trim",
                                   "a|upper",
                                   "a|title",
                                   "a|length",
                                   "a|int",
                                   "a is lower",
                                   "'y' in a",
                                   "a == b",
                                   "a < b",
                                   "a ~ b",
                                   "{a: 1}[b]",
                                   "[a]|join",
                                   "[a]|string"}) {
      QTest::newRow(expression) << expression;
    }
  }
  void T3_methods_of_texts_are_paid_for() {
    QFETCH(QString, expression);
    Limits limits;
    limits.max_steps = 200'000;
    const std::string source = "{% set a = 'x' * 1000000 %}{% set b = 'x' * 1000000 %}{% for i in range(100) %}{% set t = " +
                               expression.toStdString() + " %}{% endfor %}";
    const std::string text = rendered(source, Json::object(), limits);
    QVERIFY2(text.find("200000 steps") != std::string::npos, text.substr(0, 300).c_str());
  }
  /// Texts that nearly hold the other one everywhere, so that looking for it byte by byte would take for ever.
  void T3_searching_takes_no_square_of_time() {
    const std::string texts =
        "{% set a = 'a' * 8000000 %}{% set front = 'a' * 2000000 ~ 'b' %}{% set back = 'b' ~ 'a' * 2000000 %}";
    QCOMPARE(rendered(texts + "{{ a.find(front) }}{{ a.rfind(back) }}{{ front in a }}"), std::string("-1-1False"));
    QCOMPARE(rendered(texts + "{{ a.count(front) }}{{ a.split(front)|length }}{{ a.rsplit(back)|length }}"),
             std::string("011"));
    QCOMPARE(rendered(texts + "{{ a.replace(front, '') == a }}"), std::string("True"));
  }
  /// Text that grows in many small steps is paid for once, not again with each step.
  void long_texts_of_many_lines_are_no_burden() {
    const Json text = {{"text", repeated("a line\n", 100'000)}};
    QCOMPARE(rendered("{{ text.replace('\n', ' ')|length }}", text), std::string("700000"));
    QCOMPARE(rendered("{{ text|indent(2)|length }}", text), std::string("899998"));
    QCOMPARE(rendered("{{ text.split('\n')|join('; ')|length }}", text), std::string("800000"));
    QCOMPARE(rendered("{{ text.rsplit('\n', 2)[1] }}{{ 'abab'.rfind('ab') }}{{ 'a--b--c'.rsplit('--', 1) }}", text),
             std::string("a line2['a--b', 'c']"));
  }
  /// Looking for each key among the others would be five thousand million looks.
  void S4_objects_of_many_keys_are_taken_over_at_once() {
    Json object = Json::object();
    for (int i = 0; i < 100'000; ++i) object["key" + std::to_string(i)] = i;
    QCOMPARE(rendered("{{ o|length }} {{ o.key77 }}", {{"o", object}}), std::string("100000 77"));
  }
  void values_of_json_know_their_depth() {
    Json deep = 1;
    for (int i = 0; i < 199; ++i) deep = i % 2 == 0 ? Json{{"a", deep}} : Json::array({deep});
    QCOMPARE(rendered("{{ [o]|length }}", {{"o", deep}}), std::string("1"));
    const std::string text = rendered("{{ [[o]]|length }}", {{"o", deep}});
    QVERIFY2(text.find("deeper") != std::string::npos, text.c_str());
  }
  void T3_namespaces_may_hold_themselves() {
    on_small_stack([] {
      QCOMPARE(rendered("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me.me is defined }}{{ ns == ns.me }}"),
               std::string("TrueTrue"));
      QCOMPARE(
          rendered(
              "{% set ns = namespace(n=none) %}{% for i in range(50000) %}{% set ns.n = namespace(n=ns.n) %}{% endfor %}x"),
          std::string("x"));
      QVERIFY(refused("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns|tojson }}"));
    });
  }
  void T3_a_smaller_budget_ends_sooner() {
    Limits limits;
    limits.max_steps = 100;
    QVERIFY(rendered("{% for x in range(200) %}{% endfor %}", Json::object(), limits).find("100 steps") !=
            std::string::npos);
    QCOMPARE(rendered("{% for x in range(5) %}{{ x }}{% endfor %}", Json::object(), limits), std::string("01234"));
  }
  void T4_no_objects_of_the_host_are_reachable() {
    QCOMPARE(rendered("{{ ''.__class__ is defined }}{{ [].__class__ is defined }}{{ {}.__init__ is defined }}"),
             std::string("FalseFalseFalse"));
    QVERIFY(refused("{{ ''.__class__.__mro__ }}"));
    QVERIFY(refused("{{ ''|attr('__class__') }}"));
    for (const char* name : {"self", "request", "lipsum", "config", "g", "url_for"}) {
      QCOMPARE(rendered(std::string("{{ ") + name + " is defined }}"), std::string("False"));
    }
    QVERIFY(refused("{{ cycler.__init__.__globals__.os.popen('id').read() }}"));
    QCOMPARE(
        rendered("{{ cycler.__init__ is defined }}{{ joiner.__globals__ is defined }}{{ cycler(1).__class__ is defined }}"),
        std::string("FalseFalseFalse"));
    QVERIFY(refused("{{ '{0.__class__.__init__.__globals__}'.format(cycler) }}"));
    QVERIFY(refused("{% for x in [1] recursive %}{{ loop.__call__.__globals__ }}{% endfor %}"));
    QCOMPARE(rendered("{{ raise_exception.__globals__ is defined }}"), std::string("False"));
  }
  void whole_numbers_do_not_overflow() {
    for (const char* source :
         {"{{ 9223372036854775807 + 1 }}", "{{ -9223372036854775807 - 2 }}", "{{ 10 ** 30 }}",
          "{{ 9223372036854775807 * 2 }}", "{{ 99999999999999999999 + 1 }}", "{{ 1 - 99999999999999999999 }}",
          "{{ 99999999999999999999 is odd }}", "{{ range(99999999999999999999) }}", "{{ 0xfffffffffffffffff }}",
          "{{ '%x' % 99999999999999999999 }}", "{{ 99999999999999999999|round(-2) }}",
          "{{ (-9223372036854775807 - 1) // -1 }}"}) {
      QVERIFY2(refused_for(source, "64 bits"), source);
    }
    QCOMPARE(rendered("{{ (-9223372036854775807 - 1) % -1 }}"), std::string("0"));
  }
  void division_by_zero_is_an_error() {
    for (const char* source : {"{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}"})
      QVERIFY2(refused_for(source, "division by zero"), source);
  }
};

LATHE_TEST(LimitsTest)

}  // namespace limits_test
#include "limits_test.moc"
