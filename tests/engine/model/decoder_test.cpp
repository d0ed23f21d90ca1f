// SPDX-License-Identifier: Apache-2.0
// The decoder's memory, and reading weights into it: progress, cancel, odd addresses.
#include "engine/model/decoder/decoder.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <cstring>

#include "engine/model/decoder/load_weights.h"
#include "engine/model/layers/activations.h"
#include "engine/serve/opened_model.h"
#include "tests/support/runner_driver.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace decoder_test {

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
  void heads_of_baichuan_2_have_rows_of_length_one();
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

namespace {

/// The fixture of Baichuan with another vocabulary: rows [n, width] of the embedding, and of the head.
void make_baichuan(const std::string& folder, const std::vector<float>& embedding, const std::vector<float>& head,
                   std::size_t n) {
  const std::string source = tests::source_path("tests/fixtures/families/baichuan");
  engine::Json config = tests::read_json_file(source + "/config.json");
  config["vocab_size"] = n;
  tests::write_file(folder + "/config.json", config.dump());
  const std::string bytes = tests::read_file(source + "/model.safetensors");
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  engine::Json header = engine::Json::object();
  std::string data;
  const engine::Json tensors = engine::Json::parse(bytes.substr(sizeof n_header, n_header));
  for (const auto& [name, tensor] : tensors.items()) {
    if (name == "__metadata__" || name == "model.embed_tokens.weight" || name == "lm_head.weight") continue;
    const auto begin = tensor["data_offsets"][0].get<std::size_t>(), end = tensor["data_offsets"][1].get<std::size_t>();
    header[name] = tensor;
    header[name]["data_offsets"] = {data.size(), data.size() + end - begin};
    data += bytes.substr(sizeof n_header + n_header + begin, end - begin);
  }
  const auto add = [&](const char* name, const std::vector<float>& rows) {
    const std::size_t begin = data.size(), size = rows.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", {n, rows.size() / n}}, {"data_offsets", {begin, begin + size}}};
    data.append(reinterpret_cast<const char*>(rows.data()), size);
  };
  add("model.embed_tokens.weight", embedding);
  add("lm_head.weight", head);
  tests::write_file(folder + "/model.safetensors", tests::length_prefix(header.dump().size()) + header.dump() + data);
}

}  // namespace

void DecoderTest::heads_of_baichuan_2_have_rows_of_length_one() {
  constexpr std::size_t kVocab = 125'696, kWidth = 48;  // what tells Baichuan 2 from 1 is its vocabulary
  std::vector<float> embedding(kVocab * kWidth), head(kVocab * kWidth);
  for (std::size_t i = 0; i < head.size(); ++i) {
    embedding[i] = static_cast<float>(i * 2654435761U % 997) / 997 - 0.5F;
    head[i] = static_cast<float>(i * 2246822519U % 991) / 500 - 1;
  }
  const QTemporaryDir as_saved, as_meant;
  make_baichuan(as_saved.path().toStdString(), embedding, head, kVocab);
  for (std::size_t row = 0; row < kVocab; ++row) {
    double length = 0;
    for (std::size_t i = 0; i < kWidth; ++i) length += std::pow(head[row * kWidth + i], 2);
    for (std::size_t i = 0; i < kWidth; ++i) head[row * kWidth + i] /= static_cast<float>(std::sqrt(length));
  }
  embedding.resize((kVocab + 1) * kWidth);  // a word more: Baichuan 1, whose head is multiplied as it is
  head.resize((kVocab + 1) * kWidth);
  make_baichuan(as_meant.path().toStdString(), embedding, head, kVocab + 1);
  const std::vector<std::int32_t> ids = {5, 70'001, 9};
  const auto got = tests::RunnerDriver(as_saved.path().toStdString(), {}).step({{0, ids, 3}});
  const auto want = tests::RunnerDriver(as_meant.path().toStdString(), {}).step({{0, ids, 3}});
  double largest = 0, spread = 0;
  for (std::size_t i = 0; i < kVocab; ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(got[2][i]) - want[2][i]));
    spread = std::max(spread, std::fabs(static_cast<double>(want[2][i])));
  }
  QVERIFY(spread > 0.1);
  QVERIFY2(largest < 1e-5 * spread, qPrintable(QString::number(largest)));
}

LATHE_TEST(DecoderTest)

}  // namespace decoder_test
#include "decoder_test.moc"
