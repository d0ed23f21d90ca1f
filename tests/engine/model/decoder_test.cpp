// SPDX-License-Identifier: Apache-2.0
// The decoder's memory, and reading weights into it: progress, cancel, odd addresses.
#include "engine/model/decoder/decoder.h"

#include <QTest>
#include <cstring>

#include "engine/model/decoder/load_weights.h"
#include "engine/model/layers/activations.h"
#include "engine/serve/opened_model.h"
#include "tests/support/runner_driver.h"
#include "tests/support/tiny_model.h"

using namespace lathe;
using kernels::Dtype;

class DecoderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void it_takes_the_bytes_that_were_estimated_data();
  void it_takes_the_bytes_that_were_estimated();
  void activations_take_the_bytes_that_were_estimated();
  void activations_do_not_overlap();
  void sixteen_bits_take_half();
  void progress_rises_to_the_bytes_of_the_plan();
  void cancel_stops_between_tensors();
  void odd_addresses_are_read_right();
  void conversion_between_types_keeps_values();
};

void DecoderTest::it_takes_the_bytes_that_were_estimated_data() {
  QTest::addColumn<QString>("model");
  QTest::addColumn<QString>("isa");
  for (const std::string_view model : tests::kTinyModels) {
    for (const std::string& isa : kernels::cpu_isas()) {
      QTest::addRow("%s on %s", model.data(), isa.c_str()) << model.data() << QString::fromStdString(isa);
    }
  }
}

void DecoderTest::it_takes_the_bytes_that_were_estimated() {
  QFETCH(QString, model);
  QFETCH(QString, isa);
  const auto opened = engine::open_model(tests::tiny_model_path(model.toStdString()));
  const std::string name = isa.toStdString();
  const auto backend = kernels::make_cpu_backend({.n_threads = 1, .isa = name});
  std::vector<engine::WeightStorage> storages = {Dtype::f32, Dtype::f16, Dtype::bf16};
  for (const engine::Quantization& row : engine::quantizations()) {
    engine::EngineOptions options;
    options.quantization = row.name;
    storages.push_back(engine::storage_of(options, Dtype::bf16));
  }
  for (const engine::WeightStorage& storage : storages) {
    const auto decoder = engine::Decoder::create(*backend, opened->config, storage, 64);
    QVERIFY(decoder.has_value());
    QCOMPARE(decoder->weight_bytes(), engine::Decoder::weight_bytes(*backend, opened->config, storage));
  }
}

void DecoderTest::activations_take_the_bytes_that_were_estimated() {
  const auto opened = engine::open_model(tests::tiny_model_path());
  const auto backend = kernels::make_reference_backend();
  const auto activations = engine::Activations::create(*backend, opened->config, 33, 5);
  QCOMPARE(activations->n_bytes(), engine::Activations::n_bytes(opened->config, 33, 5));
}

void DecoderTest::activations_do_not_overlap() {
  const auto opened = engine::open_model(tests::tiny_model_path());
  const auto backend = kernels::make_reference_backend();
  const auto activations = engine::Activations::create(*backend, opened->config, 7, 3);
  const engine::StepBuffers step = activations->for_step(7, 3);
  const std::vector<kernels::TensorView> views = {step.residual,  step.normed, step.delta,       step.qkv,
                                                  step.attention, step.last,   step.last_normed, step.logits};
  for (std::size_t i = 1; i < views.size(); ++i) {
    QVERIFY(views[i].as<std::byte>() >= views[i - 1].as<std::byte>() + views[i - 1].n_bytes());
    QCOMPARE(reinterpret_cast<std::uintptr_t>(views[i].data) % 64, std::uintptr_t{0});
  }
  const auto* end = static_cast<const std::byte*>(step.residual.data) + activations->n_bytes();
  QVERIFY(step.logits.as<std::byte>() + step.logits.n_bytes() <= end);
}

void DecoderTest::sixteen_bits_take_half() {
  const auto opened = engine::open_model(tests::tiny_model_path());
  const auto backend = kernels::make_reference_backend();
  const auto wide = engine::Decoder::weight_bytes(*backend, opened->config, Dtype::f32);
  const auto narrow = engine::Decoder::weight_bytes(*backend, opened->config, Dtype::bf16);
  QVERIFY(narrow < wide * 6 / 10 && narrow > wide * 4 / 10);
}

void DecoderTest::progress_rises_to_the_bytes_of_the_plan() {
  const auto opened = engine::open_model(tests::tiny_model_path());
  const auto backend = kernels::make_reference_backend();
  auto decoder = engine::Decoder::create(*backend, opened->config, Dtype::f32, 64);
  std::vector<std::int64_t> seen;
  const auto observer = [&](std::int64_t bytes_done) {
    seen.push_back(bytes_done);
    return true;
  };
  QVERIFY(engine::load_weights(*decoder, *backend, opened->checkpoint, opened->plan, observer).has_value());
  QCOMPARE(seen.size(), opened->plan.weights.size());
  QVERIFY(std::is_sorted(seen.begin(), seen.end()));
  QCOMPARE(seen.back(), opened->plan.n_bytes);
}

void DecoderTest::cancel_stops_between_tensors() {
  const auto opened = engine::open_model(tests::tiny_model_path());
  const auto backend = kernels::make_reference_backend();
  auto decoder = engine::Decoder::create(*backend, opened->config, Dtype::f32, 64);
  int n_calls = 0;
  const auto outcome = engine::load_weights(*decoder, *backend, opened->checkpoint, opened->plan,
                                            [&](std::int64_t) { return ++n_calls < 3; });
  QVERIFY(!outcome.has_value());
  QVERIFY(outcome.error().code == engine::ErrorCode::cancelled);
  QCOMPARE(n_calls, 3);
}

void DecoderTest::odd_addresses_are_read_right() {
  const tests::TinyModelCopy model;
  const auto tokens = tests::RunnerDriver(model.path(), {}).greedy({1, 20, 30}, 5);
  // One more space behind the header moves every tensor to an odd address.
  std::string bytes = tests::read_file(model.file("model.safetensors"));
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  bytes.insert(8 + n_header, " ");
  ++n_header;
  std::memcpy(bytes.data(), &n_header, sizeof n_header);
  tests::write_file(model.file("model.safetensors"), bytes);
  QCOMPARE(tests::RunnerDriver(model.path(), {}).greedy({1, 20, 30}, 5), tokens);
}

void DecoderTest::conversion_between_types_keeps_values() {
  const auto backend = kernels::make_reference_backend();
  std::vector<float> values = {0.0F, 1.0F, -2.5F, 0.15625F, 96.0F};  // exact in all three types
  const auto source = kernels::TensorView(values.data(), Dtype::f32, {5});
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const auto narrow = engine::DeviceTensor::allocate(*backend, dtype, {5});
    const auto back = engine::DeviceTensor::allocate(*backend, Dtype::f32, {5});
    engine::copy_converted(*backend, narrow->view(), source);
    engine::copy_converted(*backend, back->view(), narrow->view());
    for (int i = 0; i < 5; ++i) QCOMPARE(back->view().as<float>()[i], values[static_cast<std::size_t>(i)]);
  }
}

QTEST_GUILESS_MAIN(DecoderTest)
#include "decoder_test.moc"
