// SPDX-License-Identifier: Apache-2.0
// Templates made to hang, to overflow or to reach out: each ends with an error.
#include <pthread.h>

#include <QTest>
#include <thread>

#include "tests/support/template_render.h"

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

/// Runs on a thread with 512 KiB of stack.
template <class Work>
void on_small_stack(Work work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 * 1024);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<Work*>(argument))();
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
    const std::string source = "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{% endif %}x{% endmacro %}{{ m(50) }}";
    on_small_stack([&] { QCOMPARE(rendered(source).size(), std::size_t{51}); });
  }
  void T1_statements_that_reach_out_are_unknown() {
    for (const char* tag :
         {"include 'x'", "import 'x' as y", "extends 'x'", "from 'x' import y", "block a", "do x", "autoescape true"}) {
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
      QCOMPARE(rendered("{{ 1" + repeated(" + 1", 200) + " }}"), std::string("201"));
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
    QVERIFY(
        refused("{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s.replace('x', 'xx') %}{% "
                "endfor %}"));
    QVERIFY(refused("{% set s = 'x' * 1000000 %}{% for i in range(1000) %}{{ s }}{% endfor %}"));
    QVERIFY(refused("{% set s = 'x' * 1000000 %}{{ ([s] * 100)|join }}"));
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
    for (const char* name : {"self", "cycler", "request", "lipsum", "joiner", "config", "g", "url_for"}) {
      QCOMPARE(rendered(std::string("{{ ") + name + " is defined }}"), std::string("False"));
    }
    QVERIFY(refused("{{ cycler.__init__.__globals__.os.popen('id').read() }}"));
    QCOMPARE(rendered("{{ raise_exception.__globals__ is defined }}"), std::string("False"));
  }
  void whole_numbers_do_not_overflow() {
    for (const char* source :
         {"{{ 9223372036854775807 + 1 }}", "{{ -9223372036854775807 - 2 }}", "{{ 10 ** 30 }}",
          "{{ 9223372036854775807 * 2 }}", "{{ 99999999999999999999 }}", "{{ (-9223372036854775807 - 1) // -1 }}"}) {
      QVERIFY2(refused_for(source, "64 bits"), source);
    }
    QCOMPARE(rendered("{{ (-9223372036854775807 - 1) % -1 }}"), std::string("0"));
  }
  void division_by_zero_is_an_error() {
    for (const char* source : {"{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}"})
      QVERIFY2(refused_for(source, "division by zero"), source);
  }
};

QTEST_GUILESS_MAIN(LimitsTest)
#include "limits_test.moc"
