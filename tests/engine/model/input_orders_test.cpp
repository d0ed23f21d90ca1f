// SPDX-License-Identifier: Apache-2.0
// Orders of inputs find their matrices, whatever tensors they come in: with columns and orders mixed alike the logits stay.
#include <QTest>
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/model/decoder/decoder.h"
#include "engine/model/layers/device_tensor.h"
#include "engine/model/tensor_layout.h"
#include "engine/serve/opened_model.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/decoder_logits.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace input_orders_test {

using namespace lathe;
using namespace lathe::engine;
using kernels::RandomTensor;
using kernels::TensorView;

namespace {

constexpr int kTokens = 9;

std::string path_of(const std::string& family) { return tests::source_path("tests/fixtures/families/" + family); }

/// An order of its own for each kind of activations that matrices read.
class Orders {
 public:
  const std::vector<std::int32_t>& of(const PlannedWeight& weight, std::int64_t k) {
    std::vector<std::int32_t>& order = orders_[{weight.layer, weight.expert, fused_leader(weight.role)}];
    if (!order.empty()) return order;
    order.resize(static_cast<std::size_t>(k));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(numbers_.below(static_cast<std::int32_t>(i)))]);
    }
    return order;
  }

 private:
  std::map<std::tuple<std::int64_t, std::int64_t, WeightRole>, std::vector<std::int32_t>> orders_;
  kernels::RandomNumbers numbers_{1};
};

/// Column i is what was column order[i]; f32.
std::vector<float> with_columns_in(kernels::Backend& backend, const TensorView& source,
                                   const std::vector<std::int32_t>& order) {
  const RandomTensor numbers({source.dim(0), source.dim(1)});
  copy_converted(backend, numbers.view(), source);
  std::vector<float> mixed;
  for (std::int64_t row = 0; row < source.dim(0); ++row) {
    for (const std::int32_t column : order) mixed.push_back(numbers.view().row<float>(row)[column]);
  }
  return mixed;
}

/// All weights in f32, their columns mixed where `orders` is given.
void load(Decoder& decoder, kernels::Backend& backend, const OpenedModel& model, Orders* orders) {
  for (const PlannedWeight& weight : model.plan.weights) {
    std::vector<std::byte> aligned, moved;
    const TensorView source = to_plain(backend, weight.layout, model.config, view_of(*weight.tensor, aligned), moved);
    if (orders == nullptr || !is_layer_matrix(weight.role)) {
      decoder.accept(backend, weight.role, weight.layer, source, weight.expert);
      const bool is_head_too = weight.role == WeightRole::embedding && model.plan.tied_embeddings;
      if (is_head_too) decoder.accept(backend, WeightRole::head, weight.layer, source);
      continue;
    }
    const auto& order = orders->of(weight, source.dim(1));
    std::vector<float> mixed = with_columns_in(backend, source, order);
    decoder.accept(backend, weight.role, weight.layer, {mixed.data(), kernels::Dtype::f32, {source.dim(0), source.dim(1)}},
                   weight.expert);
    decoder.accept_order(weight.role, weight.layer, order, weight.expert);
  }
}

std::vector<float> logits_of(const OpenedModel& model, const std::string& isa, Orders* orders) {
  auto backend = isa.empty() ? kernels::make_reference_backend() : kernels::make_cpu_backend({.n_threads = 2, .isa = isa});
  WeightStorage storage = kernels::Dtype::f32;
  storage.matrices_are_ordered = storage.experts_are_ordered = orders != nullptr;
  auto decoder = Decoder::create(*backend, model.config, storage, 32);
  LATHE_CHECK(decoder.has_value());
  load(*decoder, *backend, model, orders);
  return tests::logits_of(std::move(backend), std::move(*decoder), kTokens);
}

}  // namespace

class InputOrdersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_stay_data() {
    QTest::addColumn<QString>("family");
    // q, k and v apart and in one; gate and up apart and in one; experts so too, with a shared one, with biases; no gate.
    for (const char* family : {"llama", "phi3", "gpt-neox", "bloom", "mixtral", "mixtral-fused", "qwen2-moe", "gpt-oss"}) {
      QTest::newRow(family) << family;
    }
  }
  void logits_stay() {
    QFETCH(QString, family);
    const auto model = open_model(path_of(family.toStdString()));
    QVERIFY(model.has_value());
    std::vector<std::string> isas = kernels::cpu_isas();
    isas.emplace_back();  // of the reference
    for (const std::string& isa : isas) {
      Orders orders;
      std::vector<float> want = logits_of(*model, isa, nullptr), got = logits_of(*model, isa, &orders);
      const auto view = [](std::vector<float>& of) {
        return TensorView(of.data(), kernels::Dtype::f32, {1, std::ssize(of)});
      };
      const double error = kernels::relative_error(view(got), view(want));
      QVERIFY2(error <= 1e-5, qPrintable(QString::fromStdString(isa) + " " + QString::number(error)));
      QVERIFY(*std::max_element(want.begin(), want.end()) > 0.1F);
    }
  }

  /// Each matrix by the first that reads the same.
  void matrices_that_read_the_same_have_one_name() {
    for (const WeightRole role : {WeightRole::q, WeightRole::k, WeightRole::v}) QVERIFY(fused_leader(role) == WeightRole::q);
    QVERIFY(fused_leader(WeightRole::up) == WeightRole::gate && fused_leader(WeightRole::gate) == WeightRole::gate);
    QVERIFY(fused_leader(WeightRole::expert_up) == WeightRole::expert_gate);
    QVERIFY(fused_leader(WeightRole::shared_up) == WeightRole::shared_gate);
    for (const WeightRole role : {WeightRole::qkv, WeightRole::o, WeightRole::gate_up, WeightRole::down,
                                  WeightRole::expert_gate_up, WeightRole::expert_down, WeightRole::shared_down}) {
      QVERIFY(fused_leader(role) == role);
    }
  }

  /// Orders are a part of what is kept on disk, and of the memory that is planned for.
  void orders_are_in_the_image() {
    const auto model = open_model(path_of("mixtral"));
    const auto backend = kernels::make_cpu_backend({.n_threads = 1});
    WeightStorage storage = kernels::Dtype::f32;
    const auto bytes_of = [&] { return Decoder::weight_bytes(*backend, model->config, storage); };
    const std::int64_t plain = bytes_of();
    const ModelConfig& config = model->config;
    const std::int64_t of_attention = config.n_layers * (config.hidden_size + config.q_size()) * 4;
    const std::int64_t of_experts =
        config.n_layers * config.moe.n_experts * (2 * config.hidden_size + config.moe.expert_size) * 4;
    storage.matrices_are_ordered = true;
    QCOMPARE(bytes_of() - plain, of_attention);
    storage.experts_are_ordered = true;
    QCOMPARE(bytes_of() - plain, of_attention + of_experts);
    auto decoder = Decoder::create(*backend, config, storage, 32);
    std::size_t n_bytes = 0;
    for (const auto part : decoder->image()) n_bytes += part.size();
    QCOMPARE(static_cast<std::int64_t>(n_bytes), bytes_of());
    QCOMPARE(decoder->weight_bytes(), bytes_of());
  }
};

LATHE_TEST(InputOrdersTest)

}  // namespace input_orders_test
#include "input_orders_test.moc"
