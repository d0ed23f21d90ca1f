// SPDX-License-Identifier: Apache-2.0
// The knobs of a model as lathe inspect prints them.
#include "app/cli/knob_text.h"

#include <QTest>

#include "tests/support/cli_run.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace knob_text_test {

using lathe::app::knob_lines;
using lathe::engine::Json;
using lathe::engine::OrderedJson;
using lathe::tests::run_cli;

class KnobTextTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void one_line_a_knob() {
    const std::string lines = knob_lines({{"norm", {{"kind", "rms"}, {"eps", 1e-6}, {"bias", false}}}, {"heads", 4}});
    QCOMPARE(lines, std::string("  norm                    kind rms, eps 1e-06, bias no\n"
                                "  heads                   4\n"));
  }

  void what_is_not_there_has_no_line() {
    QVERIFY(knob_lines({{"clip_qkv", nullptr}, {"ropes", OrderedJson::array()}, {"windows", {nullptr, nullptr}}}).empty());
    QCOMPARE(knob_lines({{"rope", {{"theta", 1e4}, {"mscale", nullptr}}}}),
             std::string("  rope                    theta 10000\n"));
  }

  void what_all_layers_share_is_said_once() {
    QCOMPARE(knob_lines({{"windows", {12, 12, 12}}}), std::string("  windows                 12 in all 3\n"));
    QCOMPARE(knob_lines({{"windows", {12, nullptr, 12}}}), std::string("  windows                 12, -, 12\n"));
    QCOMPARE(knob_lines({{"eos_ids", {2}}}), std::string("  eos_ids                 2\n"));
  }

  void long_lists_are_counted() {
    std::vector<double> factors(48);
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 1.0 + static_cast<double>(i);
    const std::string lines = knob_lines({{"ropes", {{{"long_factor", factors}}, {{"theta", 1e4}}}}});
    QCOMPARE(lines, std::string("  ropes                   long_factor 48 numbers; theta 10000\n"));
  }

  void inspect_has_them_in_both_forms() {
    const std::string path = lathe::tests::source_path("tests/fixtures/families/gemma2");
    const Json knobs = Json::parse(run_cli({"inspect", path, "--json"}).out)["knobs"];
    QCOMPARE(knobs["norm_place"].get<std::string>(), std::string("around"));
    QCOMPARE(knobs["window_of_layers"].dump(), std::string("[12,null]"));
    QVERIFY(knobs["attention_soft_cap"].is_number() && knobs["ropes"][0]["theta"].is_number());
    QVERIFY(knobs["adds_bos"].is_null());
    const std::string text = run_cli({"inspect", path}).out;
    for (const char* part : {"Knobs\n", "  norm_place              around\n", "  window_of_layers        12, -\n"}) {
      QVERIFY2(text.find(part) != std::string::npos, part);
    }
  }

  void a_tokenizer_that_is_named_gives_the_rule_of_bos() {
    const std::string path = lathe::tests::source_path("tests/fixtures/families/llama");
    const auto rule = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments = {"inspect", path, "--json"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return Json::parse(run_cli(arguments).out)["knobs"]["adds_bos"];
    };
    QVERIFY(rule({}).is_null());
    QVERIFY(rule({"--tokenizer", lathe::tests::tiny_model_path()}) == true);
  }
};

LATHE_TEST(KnobTextTest)

}  // namespace knob_text_test
#include "knob_text_test.moc"
