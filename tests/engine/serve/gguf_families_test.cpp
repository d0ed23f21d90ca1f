// SPDX-License-Identifier: Apache-2.0
// GGUF files of tiny checkpoints, made by llama.cpp's converter: logits are those of the checkpoint's folder. Those that we
// write are in fidelity/families_test, what is special about them here.
#include <QTemporaryDir>
#include <QTest>
#include <string>

#include "engine/api/checkpoint.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

using namespace lathe;
using namespace lathe::tests;

class GgufFamiliesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_are_those_of_the_folder_data();
  void logits_are_those_of_the_folder();
  void nothing_in_the_file_is_left_over();
  void norms_of_single_heads_are_written_in_one();
  void experts_in_mxfp4_keep_their_codes();
  void a_stack_of_experts_is_written_as_other_experts_are();
};

void GgufFamiliesTest::logits_are_those_of_the_folder_data() {
  QTest::addColumn<int>("row");
  const auto families = written_families();
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].has_file) QTest::newRow(std::string(families[i].name).c_str()) << static_cast<int>(i);
  }
}

void GgufFamiliesTest::logits_are_those_of_the_folder() {
  QFETCH(int, row);
  const WrittenFamily& family = written_families()[static_cast<std::size_t>(row)];
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  copy_family(family.name, family.unsaid, folder);
  const RunnerChoice choice{.max_model_len = 40};
  const double largest = largest_difference(logits_of(gguf_path(family.name), choice), logits_of(folder, choice));
  QVERIFY2(largest <= family.allowed, std::to_string(largest).c_str());
}

void GgufFamiliesTest::nothing_in_the_file_is_left_over() {
  for (const WrittenFamily& family : written_families()) {
    if (!family.has_file) continue;
    const auto info = engine::inspect_checkpoint(gguf_path(family.name));
    QVERIFY2(info.has_value(), refusal_in(info).c_str());
    QVERIFY2(info->warnings.empty(), info->warnings.empty() ? "" : info->warnings.front().c_str());
  }
}

/// llama.cpp's own converter does not write this one any more.
void GgufFamiliesTest::norms_of_single_heads_are_written_in_one() {
  const QTemporaryDir made;
  const std::string folder = family_path("stablelm-12b");
  const std::string file = made.filePath("stablelm-12b.gguf").toStdString();
  const auto report = convert_as_it_is(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(read_file(file).find("blk.1.attn_q_norm.weight") != std::string::npos);
}

/// The same codes in other places: halves of a block of a GGUF file lie 16 apart, and gate and up by themselves.
void GgufFamiliesTest::experts_in_mxfp4_keep_their_codes() {
  const std::string folder = source_path("tests/fixtures/quantized/mxfp4"), file = gguf_path("mxfp4");
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY2(info.has_value(), refusal_in(info).c_str());
  QCOMPARE(info->stored_expert_quantization, std::string("mxfp4"));
  QVERIFY(info->stored_quantization.empty() && info->warnings.empty());
  for (const bool as_stored : {false, true}) {
    const RunnerChoice choice{.as_stored = as_stored, .max_model_len = 40};
    QVERIFY(logits_of(file, choice) == logits_of(folder, choice));
  }
}

void GgufFamiliesTest::a_stack_of_experts_is_written_as_other_experts_are() {
  const QTemporaryDir made;
  const std::string folder = family_path("mixtral-fused");
  const std::string file = made.filePath("fused.gguf").toStdString();
  const auto report = convert_as_it_is(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const std::string bytes = read_file(file);
  for (const char* name : {"blk.0.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"}) {
    QVERIFY2(bytes.find(name) != std::string::npos, name);
  }
}

QTEST_APPLESS_MAIN(GgufFamiliesTest)
#include "gguf_families_test.moc"
