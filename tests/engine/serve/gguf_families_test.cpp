// SPDX-License-Identifier: Apache-2.0
// GGUF files of tiny checkpoints, made by llama.cpp's converter and by our own: logits are those of the checkpoint's folder.
#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/api/checkpoint.h"
#include "engine/api/convert.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

using namespace lathe;
using namespace lathe::tests;

namespace {

struct Row {
  const char* name;
  const char* unsaid = "{}";  ///< merged into config.json: what the format, or its converter, leaves out
  double allowed = 0;         ///< difference of logits
  bool has_file = true;       ///< of llama.cpp's converter, which makes none of the others' fixtures
};

// Windows of Mistral, Qwen and StarCoder 2 are not written; the scale of Gemma's scores follows from its sizes, the layers
// that slide in Gemma 3 and Cohere 2 and those that turn in SmolLM 3 from their number; nothing says PhiMoE's jitter.
// Llama's and Phi's factors are written in f32.
constexpr Row kRows[] = {
    {"llama", "{}", 1e-4},
    {"llama-yarn"},
    {"mistral", R"({"sliding_window": null})"},
    {"mixtral"},
    {"qwen2", R"({"use_sliding_window": null, "sliding_window": null, "layer_types": null, "max_window_layers": null})"},
    {"qwen3"},
    {"qwen3-moe"},
    {"gemma"},
    {"gemma2", R"({"query_pre_attn_scalar": 16})"},
    {"gemma3",
     R"({"query_pre_attn_scalar": 16, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention"]})"},
    {"phi"},
    {"phi3"},
    {"phi3-longrope", "{}", 1e-5},
    {"stablelm"},
    {"starcoder2", R"({"sliding_window": null})"},
    {"olmo2"},
    {"exaone4"},
    {"granite"},
    {"smollm3", R"({"no_rope_layers": null})"},
    {"cohere"},
    {"glm4"},
    {"gpt-oss"},
    {"qwen2-moe", "{}", 0, false},
    {"phimoe", R"({"router_jitter_noise": null})"},
    {"ministral3"},
    {"cohere2", R"({"layer_types": null})"},
    {"gpt2"},
    {"gpt-neox"},
    {"bloom"},
    {"falcon-7b"},
    {"falcon-40b"},
    {"mpt"},
    {"internlm2", "{}", 0, false},
    {"baichuan", "{}", 0, false},
};

std::string gguf_path(const std::string& name) { return source_path("tests/fixtures/gguf/" + name + ".gguf"); }

double largest_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      const double difference = std::abs(static_cast<double>(a[i][j]) - static_cast<double>(b[i][j]));
      largest = std::max(largest, std::isnan(difference) ? INFINITY : difference);
    }
  }
  return largest;
}

}  // namespace

class GgufFamiliesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_are_those_of_the_folder_data();
  void logits_are_those_of_the_folder();
  void so_are_those_of_files_that_we_write_data();
  void so_are_those_of_files_that_we_write();
  void what_the_format_cannot_say_is_refused_data();
  void what_the_format_cannot_say_is_refused();
  void nothing_in_the_file_is_left_over();
  void norms_of_single_heads_are_written_in_one();
  void experts_in_mxfp4_keep_their_codes();
  void a_stack_of_experts_is_written_as_other_experts_are();
};

namespace {

template <class IsWanted>
void add_rows(const IsWanted& is_wanted) {
  QTest::addColumn<QString>("unsaid");
  QTest::addColumn<double>("allowed");
  for (const Row& row : kRows) {
    if (is_wanted(row)) QTest::newRow(row.name) << QString::fromUtf8(row.unsaid) << row.allowed;
  }
}

}  // namespace

void GgufFamiliesTest::so_are_those_of_files_that_we_write_data() {
  add_rows([](const Row&) { return true; });
}

void GgufFamiliesTest::logits_are_those_of_the_folder_data() {
  add_rows([](const Row& row) { return row.has_file; });
}

namespace {

/// The family's checkpoint, its config merged with what the row says.
void make_folder(const std::string& folder, const std::string& family, const QString& unsaid) {
  engine::Json config = read_json_file(family + "/config.json");
  config.merge_patch(engine::Json::parse(unsaid.toStdString()));
  write_file(folder + "/config.json", config.dump());
  write_file(folder + "/model.safetensors", read_file(family + "/model.safetensors"));
}

double difference_of_logits(const std::string& file, const std::string& folder) {
  std::vector<std::int32_t> ids(20);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 90 + 3);
  const RunnerChoice choice{.max_model_len = 40};
  RunnerDriver of_folder(folder, choice), of_file(file, choice);
  return largest_difference(of_file.step({{0, ids, 20}}), of_folder.step({{0, ids, 20}}));
}

engine::Result<engine::ConvertReport> convert(const std::string& folder, const std::string& output) {
  engine::EngineOptions options;
  options.model = folder;
  return engine::convert_checkpoint(options, {.output = output}, {});
}

}  // namespace

void GgufFamiliesTest::logits_are_those_of_the_folder() {
  QFETCH(QString, unsaid);
  QFETCH(double, allowed);
  const std::string name = QTest::currentDataTag();
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  make_folder(folder, source_path("tests/fixtures/families/" + name), unsaid);
  const double largest = difference_of_logits(gguf_path(name), folder);
  QVERIFY2(largest <= allowed, std::to_string(largest).c_str());
}

void GgufFamiliesTest::so_are_those_of_files_that_we_write() {
  QFETCH(QString, unsaid);
  QFETCH(double, allowed);
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString(), file = folder + "/written.gguf";
  make_folder(folder, source_path("tests/fixtures/families/" + std::string(QTest::currentDataTag())), unsaid);
  const auto report = convert(folder, file);
  QVERIFY2(report.has_value(), report ? "" : (report.error().where + ": " + report.error().message).c_str());
  const double largest = difference_of_logits(file, folder);
  QVERIFY2(largest <= allowed, std::to_string(largest).c_str());
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY(info.has_value());
  QVERIFY2(info->warnings.empty(), info->warnings.empty() ? "" : info->warnings.front().c_str());
}

void GgufFamiliesTest::what_the_format_cannot_say_is_refused_data() {
  QTest::addColumn<QString>("expected");
  QTest::newRow("mistral") << "sliding windows";
  QTest::newRow("gemma2") << "scale of attention";
  QTest::newRow("opt") << "OPTForCausalLM is not written to GGUF files";
  QTest::newRow("gpt2-scaled") << "scales of layers";
  QTest::newRow("falcon-rw") << "ALiBi";
  QTest::newRow("llama-dynamic") << "dynamic";
}

void GgufFamiliesTest::what_the_format_cannot_say_is_refused() {
  QFETCH(QString, expected);
  const QTemporaryDir made;
  const std::string file = made.filePath("refused.gguf").toStdString();
  const auto report = convert(source_path("tests/fixtures/families/" + std::string(QTest::currentDataTag())), file);
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().code, engine::ErrorCode::unsupported);
  const QString message = QString::fromStdString(report.error().message);
  QVERIFY2(message.contains(expected), qPrintable(message));
  QVERIFY(QDir(made.path()).isEmpty());
}

void GgufFamiliesTest::nothing_in_the_file_is_left_over() {
  for (const Row& row : kRows) {
    if (!row.has_file) continue;
    const auto info = engine::inspect_checkpoint(gguf_path(row.name));
    QVERIFY2(info.has_value(), info ? "" : (info.error().where + ": " + info.error().message).c_str());
    QVERIFY2(info->warnings.empty(), info->warnings.empty() ? "" : (row.name + (": " + info->warnings.front())).c_str());
  }
}

/// llama.cpp's own converter does not write this one any more.
void GgufFamiliesTest::norms_of_single_heads_are_written_in_one() {
  const QTemporaryDir made;
  const std::string folder = source_path("tests/fixtures/families/stablelm-12b");
  const std::string file = made.filePath("stablelm-12b.gguf").toStdString();
  const auto report = convert(folder, file);
  QVERIFY2(report.has_value(), report ? "" : (report.error().where + ": " + report.error().message).c_str());
  QCOMPARE(difference_of_logits(file, folder), 0.0);
  QVERIFY(read_file(file).find("blk.1.attn_q_norm.weight") != std::string::npos);
}

/// The same codes in other places: halves of a block of a GGUF file lie 16 apart, and gate and up by themselves.
void GgufFamiliesTest::experts_in_mxfp4_keep_their_codes() {
  const std::string folder = source_path("tests/fixtures/quantized/mxfp4"), file = gguf_path("mxfp4");
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY2(info.has_value(), info ? "" : (info.error().where + ": " + info.error().message).c_str());
  QCOMPARE(info->stored_expert_quantization, std::string("mxfp4"));
  QVERIFY(info->stored_quantization.empty() && info->warnings.empty());
  std::vector<std::int32_t> ids(20);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 90 + 3);
  for (const bool as_stored : {false, true}) {
    const RunnerChoice choice{.as_stored = as_stored, .max_model_len = 40};
    RunnerDriver of_folder(folder, choice), of_file(file, choice);
    QVERIFY(of_file.step({{0, ids, 20}}) == of_folder.step({{0, ids, 20}}));
  }
}

void GgufFamiliesTest::a_stack_of_experts_is_written_as_other_experts_are() {
  const QTemporaryDir made;
  const std::string folder = source_path("tests/fixtures/families/mixtral-fused");
  const std::string file = made.filePath("fused.gguf").toStdString();
  const auto report = convert(folder, file);
  QVERIFY2(report.has_value(), report ? "" : (report.error().where + ": " + report.error().message).c_str());
  QCOMPARE(difference_of_logits(file, folder), 0.0);
  const std::string bytes = read_file(file);
  for (const char* name : {"blk.0.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"}) {
    QVERIFY2(bytes.find(name) != std::string::npos, name);
  }
}

QTEST_APPLESS_MAIN(GgufFamiliesTest)
#include "gguf_families_test.moc"
