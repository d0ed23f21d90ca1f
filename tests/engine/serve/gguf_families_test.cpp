// SPDX-License-Identifier: Apache-2.0
// GGUF files that llama.cpp's converter made of tiny checkpoints: logits are those of the checkpoint's folder.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/api/checkpoint.h"
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
};

// Windows of Mistral, Qwen and StarCoder 2 are not written; the scale of Gemma's scores follows from its sizes, the layers
// that slide in Gemma 3 and those that turn in SmolLM 3 from their number. Llama's and Phi's factors are written in f32.
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
  void nothing_in_the_file_is_left_over();
};

void GgufFamiliesTest::logits_are_those_of_the_folder_data() {
  QTest::addColumn<QString>("unsaid");
  QTest::addColumn<double>("allowed");
  for (const Row& row : kRows) QTest::newRow(row.name) << QString::fromUtf8(row.unsaid) << row.allowed;
}

void GgufFamiliesTest::logits_are_those_of_the_folder() {
  QFETCH(QString, unsaid);
  QFETCH(double, allowed);
  const std::string name = QTest::currentDataTag(), family = source_path("tests/fixtures/families/" + name);
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  engine::Json config = read_json_file(family + "/config.json");
  config.merge_patch(engine::Json::parse(unsaid.toStdString()));
  write_file(folder + "/config.json", config.dump());
  write_file(folder + "/model.safetensors", read_file(family + "/model.safetensors"));
  std::vector<std::int32_t> ids(20);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 90 + 3);
  const RunnerChoice choice{.max_model_len = 40};
  RunnerDriver of_folder(folder, choice), of_file(gguf_path(name), choice);
  const double largest = largest_difference(of_file.step({{0, ids, 20}}), of_folder.step({{0, ids, 20}}));
  QVERIFY2(largest <= allowed, std::to_string(largest).c_str());
}

void GgufFamiliesTest::nothing_in_the_file_is_left_over() {
  for (const Row& row : kRows) {
    const auto info = engine::inspect_checkpoint(gguf_path(row.name));
    QVERIFY2(info.has_value(), info ? "" : (info.error().where + ": " + info.error().message).c_str());
    QVERIFY2(info->warnings.empty(), info->warnings.empty() ? "" : (row.name + (": " + info->warnings.front())).c_str());
  }
}

QTEST_APPLESS_MAIN(GgufFamiliesTest)
#include "gguf_families_test.moc"
