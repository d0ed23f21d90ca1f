// SPDX-License-Identifier: Apache-2.0
// Recurrent layers that are written to GGUF files and to folders, with heads in the order of each.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/api/convert.h"
#include "tests/support/gguf_copy.h"
#include "tests/support/random_folder.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace convert_recurrent_test {

using namespace lathe;
using namespace lathe::tests;
using engine::EngineOptions;

namespace {

engine::Result<engine::ConvertReport> convert_to(const std::string& to, const std::string& from, const EngineOptions& wanted,
                                                 bool write_codes = true) {
  EngineOptions options = wanted;
  options.model = from;
  return engine::convert_checkpoint(options, {.output = to, .write_codes = write_codes}, {});
}

EngineOptions quantized(const std::string& method) {
  EngineOptions options;
  options.quantization = method;
  return options;
}

/// A checkpoint of Qwen3.5 with random weights.
void write_delta_net(const std::string& folder, int value_dim) {
  engine::Json config = read_json_file(family_path("qwen3-5") + "/config.json");
  config.merge_patch({{"hidden_size", 64},
                      {"intermediate_size", 96},
                      {"head_dim", 32},
                      {"linear_num_value_heads", 6},
                      {"linear_value_head_dim", value_dim}});
  write_random_folder(folder, config);
}

}  // namespace

class ConvertRecurrentTest : public QObject {
  Q_OBJECT

  QTemporaryDir made_;
  std::string path(const std::string& name) const { return made_.filePath(QString::fromStdString(name)).toStdString(); }

 private Q_SLOTS:
  void layers_are_written_both_ways_data();
  void layers_are_written_both_ways();
  void files_are_those_of_the_usual_converter_data();
  void files_are_those_of_the_usual_converter();
  void heads_of_v_move_with_their_codes_data();
  void heads_of_v_move_with_their_codes();
  void heads_of_v_that_blocks_cut_are_refused();
};

void ConvertRecurrentTest::layers_are_written_both_ways_data() {
  QTest::addColumn<QString>("family");
  for (const char* const family : {"qwen3-5", "qwen3-5-uneven", "qwen3-5-moe", "qwen3-next", "lfm2", "lfm2-moe"})
    QTest::newRow(family) << family;
}

void ConvertRecurrentTest::layers_are_written_both_ways() {
  QFETCH(QString, family);
  const QTemporaryDir made;
  const std::string name = family.toStdString(), source = gguf_path(name), file = made.filePath("copy.gguf").toStdString(),
                    folder = made.filePath("folder").toStdString(), again = made.filePath("again.gguf").toStdString();
  const RunnerChoice choice{.max_model_len = 40};
  const auto want = logits_of(source, choice);
  const std::pair<std::string, std::string> ways[] = {{source, file}, {source, folder}, {folder, again}};
  for (const auto& [from, to] : ways) {
    const auto report = convert_as_it_is(from, to);
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    QVERIFY2(largest_difference(logits_of(to, choice), want) <= 1e-5, to.c_str());  // rates are logarithms in folders
  }
  QVERIFY(read_file(folder + "/config.json").find("tiled") == std::string::npos);
  const std::string copy = made.filePath("family").toStdString();
  const auto report = convert_as_it_is(family_path(name), copy);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(logits_of(copy, choice) == logits_of(family_path(name), choice));
}

void ConvertRecurrentTest::files_are_those_of_the_usual_converter_data() {
  QTest::addColumn<QString>("family");
  for (const char* const family : {"qwen3-5", "qwen3-5-moe", "qwen3-next", "lfm2", "lfm2-moe"})
    QTest::newRow(family) << family;
}

/// The tensors, types and values that llama.cpp's converter writes, and the same bytes: rates are off by a rounding.
void ConvertRecurrentTest::files_are_those_of_the_usual_converter() {
  QFETCH(QString, family);
  const QTemporaryDir made;
  const std::string name = family.toStdString(), file = made.filePath("written.gguf").toStdString();
  const auto report = convert_as_it_is(family_path(name), file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const auto got = content_of(file), want = content_of(gguf_path(name));
  const auto is_tensor = [](const auto& entry) { return entry.first.starts_with("tensor "); };
  QCOMPARE(std::count_if(got.begin(), got.end(), is_tensor), std::count_if(want.begin(), want.end(), is_tensor));
  for (const auto& [what, bytes] : want) {
    const bool is_of_llama_cpp = what.starts_with("value general.") || what.ends_with(".rope.dimension_sections");
    if (is_of_llama_cpp) continue;  // its sections are larger than these heads, which it refuses to compute
    const auto written = got.find(what);
    QVERIFY2(written != got.end(), what.c_str());
    if (!what.ends_with(".ssm_a")) {
      QVERIFY2(written->second == bytes, what.c_str());
      continue;
    }
    QCOMPARE(written->second.size(), bytes.size());
    const std::size_t head = bytes.find(']') + 1;  // type and shape
    for (std::size_t at = head; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float a = 0, b = 0;
      std::memcpy(&a, written->second.data() + at, sizeof a);
      std::memcpy(&b, bytes.data() + at, sizeof b);
      QVERIFY2(a < 0 && std::abs(a - b) <= 1e-6F * std::abs(b), what.c_str());
    }
  }
}

void ConvertRecurrentTest::heads_of_v_move_with_their_codes_data() {
  QTest::addColumn<int>("value_dim");
  for (const char* const method : {"int8_g32", "int4_g32"}) {
    QTest::newRow(method) << 32;
    QTest::addRow("%s, two blocks", method) << 64;
  }
}

void ConvertRecurrentTest::heads_of_v_move_with_their_codes() {
  QFETCH(int, value_dim);
  const std::string tag = QTest::currentDataTag(), method = tag.substr(0, tag.find(',')), folder = path("heads, " + tag),
                    file = folder + ".gguf";
  write_delta_net(folder, value_dim);
  const auto report = convert_to(file, folder, quantized(method));
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const RunnerChoice loaded{.quantization = quantized(method), .max_model_len = 40},
      as_stored{.as_stored = true, .max_model_len = 40};
  const double apart = largest_difference(logits_of(file, as_stored), logits_of(folder, loaded));
  QVERIFY2(apart <= 1e-5, std::to_string(apart).c_str());
  // As numbers, they come back to their places.
  const std::string back = folder + " again";
  EngineOptions in_f32;
  in_f32.dtype = "float32";
  QVERIFY(convert_to(back, file, in_f32).has_value());
  QVERIFY(largest_difference(logits_of(back, {.max_model_len = 40}), logits_of(file, {.max_model_len = 40})) <= 1e-5);
}

void ConvertRecurrentTest::heads_of_v_that_blocks_cut_are_refused() {
  const std::string folder = path("cut heads"), file = path("cut heads.gguf");
  write_delta_net(folder, 16);
  const auto report = convert_to(file, folder, quantized("int8_g32"));
  QVERIFY(!report.has_value());
  QVERIFY2(refusal_in(report).find("blocks of 32, and heads of 16 numbers") != std::string::npos,
           refusal_in(report).c_str());
  QVERIFY(refusal_in(report).find("linear_attn.out_proj") != std::string::npos);
  QVERIFY(convert_to(file, folder, quantized("int8_g32"), false).has_value());
}

LATHE_TEST(ConvertRecurrentTest)

}  // namespace convert_recurrent_test
#include "convert_recurrent_test.moc"
