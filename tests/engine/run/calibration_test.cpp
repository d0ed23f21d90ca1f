// SPDX-License-Identifier: Apache-2.0
// Tests of the activations that a calibration collects, and of smoothing on a model whose activations have outliers.
#include "engine/run/calibration.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/api/json.h"
#include "engine/run/calibration_texts.h"
#include "engine/serve/opened_model.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace calibration_test {

using namespace lathe;
using engine::ErrorCode;
using engine::WeightRole;
using kernels::Dtype;

namespace {

using Texts = std::vector<std::vector<std::int32_t>>;

// The last one takes two blocks of the cache.
const Texts kTexts = {{1, 5, 9, 20, 33, 7, 100, 41},
                      {1, 300, 17},
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}};
constexpr std::size_t kOutlier = 3;

engine::Result<engine::Smoothing> smoothing_of(const std::string& path, const Texts& texts, double alpha,
                                               const std::function<bool(std::int64_t)>& observe = {}) {
  const auto model = engine::open_model(path);
  const auto backend = kernels::make_cpu_backend({.n_threads = 2});
  return engine::calibrate(*backend, {model->config, model->checkpoint, model->plan, Dtype::f32}, texts, alpha, observe);
}

/// Numbers of a tensor of f32.
std::vector<float> numbers_of(const engine::OpenedModel& model, WeightRole role, std::int64_t layer) {
  for (const engine::PlannedWeight& weight : model.plan.weights) {
    if (weight.role != role || weight.layer != layer) continue;
    std::vector<std::byte> aligned;
    const kernels::TensorView view = view_of(*weight.tensor, aligned);
    return {view.as<float>(), view.as<float>() + view.n_elements()};
  }
  return {};
}

/// Multiplies channel kOutlier of a tensor of f32 in the copy's file: an element of a norm, a column of a matrix.
void scale_channel(const tests::TinyModelCopy& copy, WeightRole role, std::int64_t layer, float factor) {
  const auto model = engine::open_model(copy.path());
  std::string bytes = tests::read_file(copy.file("model.safetensors"));
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  const engine::Json header = engine::Json::parse(bytes.substr(8, n_header));
  for (const engine::PlannedWeight& weight : model->plan.weights) {
    if (weight.role != role || weight.layer != layer) continue;
    const std::size_t begin = 8 + n_header + header[weight.tensor->name]["data_offsets"][0].get<std::size_t>();
    const auto n = static_cast<std::size_t>(model->config.hidden_size);
    for (std::size_t i = kOutlier; i < weight.tensor->bytes.size() / sizeof(float); i += n) {
      float number = 0;
      std::memcpy(&number, bytes.data() + begin + i * sizeof number, sizeof number);
      number *= factor;
      std::memcpy(bytes.data() + begin + i * sizeof number, &number, sizeof number);
    }
  }
  tests::write_file(copy.file("model.safetensors"), bytes);
}

constexpr float kFactor = 64;  // a power of two: nothing is rounded

/// The same function, with one channel behind each norm much larger than the others.
void add_outliers(const tests::TinyModelCopy& copy) {
  const std::int64_t n_layers = engine::open_model(copy.path())->config.n_layers;
  for (std::int64_t layer = 0; layer < n_layers; ++layer) {
    for (const WeightRole norm : {WeightRole::attention_norm, WeightRole::mlp_norm})
      scale_channel(copy, norm, layer, kFactor);
    for (const WeightRole role : {WeightRole::q, WeightRole::k, WeightRole::v, WeightRole::gate, WeightRole::up}) {
      scale_channel(copy, role, layer, 1 / kFactor);
    }
  }
}

std::vector<float> logits_of(const std::string& path, const std::string& quantization) {
  engine::EngineOptions options;
  options.quantization = quantization;
  options.dtype = "float32";
  options.keep_head = true;
  tests::RunnerDriver driver(path, {.isa = "scalar", .quantization = options});
  const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7, 100, 41};
  return driver.step({{.sequence = 0, .tokens = prompt, .n_new = static_cast<int>(prompt.size())}}).back();
}

double distance(const std::vector<float>& got, const std::vector<float>& want) {
  double wrong = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    wrong += std::pow(got[i] - want[i], 2);
    all += std::pow(want[i], 2);
  }
  return std::sqrt(wrong / all);
}

}  // namespace

class CalibrationTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// With alpha 1 factors are the largest activations: those of the first norm can be told from the embeddings.
  void activations_are_those_behind_the_norm() {
    const auto model = engine::open_model(tests::tiny_model_path());
    const auto smoothing = smoothing_of(tests::tiny_model_path(), kTexts, 1);
    QVERIFY2(smoothing.has_value(), smoothing ? "" : smoothing.error().message.c_str());
    QCOMPARE(static_cast<std::int64_t>(smoothing->layers.size()), model->config.n_layers);
    const std::vector<float> table = numbers_of(*model, WeightRole::embedding, -1);
    const std::vector<float> norm = numbers_of(*model, WeightRole::attention_norm, 0);
    std::vector<float> largest(norm.size(), 1e-5F);
    for (const auto& text : kTexts) {
      for (const std::int32_t id : text) {
        const float* const row = table.data() + static_cast<std::size_t>(id) * norm.size();
        double squares = model->config.norm.eps;
        for (std::size_t j = 0; j < norm.size(); ++j) squares += std::pow(row[j], 2) / static_cast<double>(norm.size());
        for (std::size_t j = 0; j < norm.size(); ++j) {
          largest[j] = std::max(largest[j], static_cast<float>(std::fabs(row[j] * norm[j] / std::sqrt(squares))));
        }
      }
    }
    for (std::size_t j = 0; j < norm.size(); ++j) {
      QVERIFY(std::fabs(smoothing->layers[0].attention[j] - largest[j]) <= 1e-5F * largest[j]);
    }
  }

  /// With alpha 0 they are one by the largest weight that any product behind the norm has for the channel.
  void weights_are_those_of_all_products_behind_the_norm() {
    const auto model = engine::open_model(tests::tiny_model_path());
    const auto smoothing = smoothing_of(tests::tiny_model_path(), kTexts, 0);
    const auto n = static_cast<std::size_t>(model->config.hidden_size);
    const auto check = [&](std::initializer_list<WeightRole> roles, const std::vector<float>& factors) {
      std::vector<float> largest(n, 1e-5F);
      for (const WeightRole role : roles) {
        const std::vector<float> numbers = numbers_of(*model, role, 1);
        for (std::size_t i = 0; i < numbers.size(); ++i) largest[i % n] = std::max(largest[i % n], std::fabs(numbers[i]));
      }
      for (std::size_t j = 0; j < n; ++j) QVERIFY(std::fabs(factors[j] * largest[j] - 1) <= 1e-5F);
    };
    check({WeightRole::q, WeightRole::k, WeightRole::v}, smoothing->layers[1].attention);
    check({WeightRole::gate, WeightRole::up}, smoothing->layers[1].mlp);
  }

  /// Each text is a sequence of its own: none sees another.
  void texts_do_not_meet() {
    const auto together = smoothing_of(tests::tiny_model_path(), kTexts, 1);
    std::vector<engine::Smoothing> alone;
    for (const auto& text : kTexts) alone.push_back(*smoothing_of(tests::tiny_model_path(), {text}, 1));
    for (std::size_t layer = 0; layer < together->layers.size(); ++layer) {
      for (std::size_t j = 0; j < together->layers[layer].mlp.size(); ++j) {
        float largest = 0;
        for (const engine::Smoothing& one : alone) largest = std::max(largest, one.layers[layer].mlp[j]);
        QCOMPARE(together->layers[layer].mlp[j], largest);
      }
    }
  }

  void an_outlier_shows_in_its_layer_and_channel() {
    tests::TinyModelCopy copy;
    const auto before = smoothing_of(copy.path(), kTexts, 1);
    add_outliers(copy);
    const auto after = smoothing_of(copy.path(), kTexts, 1);
    for (std::size_t layer = 0; layer < before->layers.size(); ++layer) {
      for (std::size_t j = 0; j < before->layers[layer].mlp.size(); ++j) {
        const float factor = j == kOutlier ? kFactor : 1;
        QVERIFY(after->layers[layer].mlp[j] == factor * before->layers[layer].mlp[j]);
        QVERIFY(after->layers[layer].attention[j] == factor * before->layers[layer].attention[j]);
      }
    }
  }

  /// Smoothing moves outliers into the weights; without it, an outlier takes most of its token's 8 bits.
  void outliers_cost_nothing_once_they_are_smoothed() {
    tests::TinyModelCopy copy;
    const std::vector<float> plain = logits_of(copy.path(), "none");
    const double without = distance(logits_of(copy.path(), "smoothquant"), plain);
    add_outliers(copy);
    QVERIFY(distance(logits_of(copy.path(), "none"), plain) < 1e-5);
    const double rounded = distance(logits_of(copy.path(), "dynamic_int8"), plain);
    const double smoothed = distance(logits_of(copy.path(), "smoothquant"), plain);
    QVERIFY2(
        smoothed > 0 && smoothed < 1.5 * without && smoothed < rounded / 4,
        qPrintable(QStringLiteral("%1 without outliers, %2 with, %3 not smoothed").arg(without).arg(smoothed).arg(rounded)));
  }

  void every_architecture_is_calibrated() {
    for (const std::string_view name : tests::kTinyModels) {
      const auto smoothing = smoothing_of(tests::tiny_model_path(name), kTexts, 0.8);
      QVERIFY(smoothing.has_value());
      for (const engine::LayerSmoothing& layer : smoothing->layers) {
        for (const float s : layer.attention) QVERIFY(std::isfinite(s) && s >= 1e-5F);
      }
    }
  }

  void progress_ends_at_the_bytes_of_all_layers() {
    const auto model = engine::open_model(tests::tiny_model_path());
    std::vector<std::int64_t> seen;
    const auto observe = [&](std::int64_t bytes) { return seen.push_back(bytes), true; };
    QVERIFY(smoothing_of(tests::tiny_model_path(), kTexts, 0.5, observe).has_value());
    QCOMPARE(static_cast<std::int64_t>(seen.size()), model->config.n_layers);
    QVERIFY(std::is_sorted(seen.begin(), seen.end()) && seen.front() > 0);
    QCOMPARE(seen.back(), engine::calibration_bytes(model->plan));
    QVERIFY(seen.back() < model->plan.n_bytes);  // embeddings and head are not read
  }

  void cancel_stops_between_layers() {
    int n_calls = 0;
    const auto stopped = smoothing_of(tests::tiny_model_path(), kTexts, 0.5, [&](std::int64_t) { return ++n_calls < 1; });
    QVERIFY(!stopped.has_value() && stopped.error().code == ErrorCode::cancelled);
    QCOMPARE(n_calls, 1);
  }

  void tokens_that_the_model_lacks_are_refused() {
    const auto refused = smoothing_of(tests::tiny_model_path(), {{1, 1'000'000}}, 0.5);
    QVERIFY(!refused.has_value() && refused.error().message.find("1000000") != std::string::npos);
    QCOMPARE(smoothing_of(tests::tiny_model_path(), {}, 0.5).error().code, ErrorCode::invalid_argument);
  }

  void bundled_texts_fit_one_step_and_any_context() {
    const auto tokenizer = engine::open_tokenizer(tests::tiny_model_path());
    const auto tokens = engine::calibration_tokens(**tokenizer, 4096);
    std::size_t sum = 0;
    for (const auto& text : *tokens) sum += text.size();
    QVERIFY(tokens->size() == 8 && sum > 256 && sum <= 512);
    const auto short_ones = engine::calibration_tokens(**tokenizer, 5);
    for (const auto& text : *short_ones) QVERIFY(!text.empty() && text.size() <= 5);
  }
};

LATHE_TEST(CalibrationTest)

}  // namespace calibration_test
#include "calibration_test.moc"
