// SPDX-License-Identifier: Apache-2.0
// Loads that quantize a checkpoint of some 40 MB: what they hold at most, what a cancelled one leaves, and weights that are
// no numbers.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/api/packed_cache.h"
#include "engine/load/safetensors_writer.h"
#include "engine/model/weight_plan.h"
#include "engine/model/weight_storage.h"
#include "engine/run/open_backend.h"
#include "engine/serve/opened_model.h"
#include "tests/support/process_memory.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace load_quantized_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// tiny-llama, but wide: weights from a fixed sequence in bf16.
class WideModel {
 public:
  WideModel() {
    model_.edit("config.json", [](Json& config) {
      config["hidden_size"] = 768;
      config["intermediate_size"] = 2048;
      config["num_attention_heads"] = 12;
      config["num_key_value_heads"] = 12;
      config["num_hidden_layers"] = 3;
      config["attention_bias"] = config["mlp_bias"] = false;
    });
    std::vector<WrittenTensor> tensors;
    const auto add = [&](std::string name, std::vector<std::int64_t> shape) {
      tensors.push_back({std::move(name), kernels::Dtype::bf16, std::move(shape)});
    };
    add("model.embed_tokens.weight", {384, 768});
    for (int layer = 0; layer < 3; ++layer) {
      const std::string at = "model.layers." + std::to_string(layer) + ".";
      for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(at + norm + ".weight", {768});
      for (const char* matrix : {"q_proj", "k_proj", "v_proj", "o_proj"})
        add(at + "self_attn." + matrix + ".weight", {768, 768});
      for (const char* matrix : {"gate_proj", "up_proj"}) add(at + "mlp." + matrix + ".weight", {2048, 768});
      add(at + "mlp.down_proj.weight", {768, 2048});
    }
    add("model.norm.weight", {768});
    add("lm_head.weight", {384, 768});
    auto writer = *create_safetensors(model_.file("wide.safetensors"), tensors);
    std::uint32_t state = 1;
    for (const WrittenTensor& tensor : tensors) {
      std::vector<std::uint16_t> numbers(tensor.n_bytes() / 2);
      for (std::uint16_t& number : numbers) {
        state = state * 1664525U + 1013904223U;
        number = kernels::f32_to_bf16(0.05F * (static_cast<float>(state >> 8) * 0x1p-24F - 0.5F));
      }
      LATHE_CHECK(writer.write(std::as_bytes(std::span(numbers))).has_value());
    }
    LATHE_CHECK(writer.finish().has_value());
    std::filesystem::rename(model_.file("wide.safetensors"), model_.file("model.safetensors"));
  }
  EngineOptions options() const {
    EngineOptions options;
    options.model = model_.path();
    options.quantization = "bitsandbytes_4bit";
    options.threads = 2;
    options.max_num_seqs = 1;
    return options;
  }

 private:
  tests::TinyModelCopy model_;
};

/// tiny-llama whose first q_proj begins with that number.
void spoil(const tests::TinyModelCopy& model, float number) {
  std::string bytes = tests::read_file(model.file("model.safetensors"));
  std::ptrdiff_t at = 0;
  {
    const auto opened = open_model(model.path());
    const StoredTensor* const tensor = opened->checkpoint.find("model.layers.0.self_attn.q_proj.weight");
    const std::byte* first = tensor->bytes.data();
    for (const StoredTensor& other : opened->checkpoint.tensors()) first = std::min(first, other.bytes.data());
    std::uint64_t n_header = 0;
    std::memcpy(&n_header, bytes.data(), sizeof n_header);
    at = static_cast<std::ptrdiff_t>(sizeof n_header + n_header) + (tensor->bytes.data() - first);
  }
  std::memcpy(bytes.data() + at, &number, sizeof number);
  tests::write_file(model.file("model.safetensors"), bytes);
}

constexpr std::string_view kSpoilt =
    "weights hold NaN or infinity: model.layers.0.self_attn.q_proj.weight (1 of 4096 numbers)";

FinishReason finish_reason(Engine& engine) {
  GenerateRequest request;
  request.prompt_token_ids = {1, 5, 9};
  request.sampling.max_tokens = 2;
  const auto handle = engine.submit(std::move(request));
  LATHE_CHECK(handle.has_value());
  TokenEvent event;
  while (!event.finished) LATHE_CHECK((*handle)->wait(event, std::chrono::seconds(60)));
  return event.finish_reason;
}

}  // namespace

class LoadQuantizedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void memory_stays_near_the_packed_size() {
    if (std::string(LATHE_SANITIZERS) == "thread") QSKIP("skipped: the thread sanitizer's shadow counts as memory");
    LATHE_CHECK(load_engine(wide_.options()).has_value());  // what libraries keep is there from now on
    const std::int64_t start = tests::anonymous_bytes();
    std::int64_t most = 0, sources = 0;
    const auto observe = [&](const LoadProgress& progress) {
      if (progress.phase != LoadPhase::warming_up) most = std::max(most, tests::anonymous_bytes() - start);
      sources = progress.bytes_total;
      return true;
    };
    const auto engine = load_engine(wide_.options(), observe);
    const std::int64_t packed = (*engine)->model().memory.weights;
    QVERIFY(sources > 30 * kMiB && packed < sources / 2);
    // Codes of a row a thread; huge pages round matrices up to 2 MiB.
    QVERIFY2(most > packed / 2 && most < packed + 12 * kMiB, qPrintable(QString("%1 of %2").arg(most).arg(packed)));
  }

  void cancel_gives_the_memory_back_data() {
    QTest::addColumn<int>("percent");
    QTest::addColumn<bool>("cached");
    for (const int percent : {10, 50, 90}) {
      QTest::addRow("%d %%", percent) << percent << false;
      QTest::addRow("%d %% of a cached one", percent) << percent << true;
    }
  }
  void cancel_gives_the_memory_back() {
    QFETCH(int, percent);
    QFETCH(bool, cached);
    const QTemporaryDir dir;
    const PackedCacheFolder folder{.path = cached ? dir.path().toStdString() : ""};
    LATHE_CHECK(load_engine_cached(wide_.options(), {}, folder).has_value());
    const std::int64_t start = tests::anonymous_bytes();
    std::int64_t when_cancelled = 0;
    const auto observe = [&](const LoadProgress& progress) {
      if (progress.bytes_done * 100 < percent * progress.bytes_total) return true;
      when_cancelled = tests::anonymous_bytes();
      return false;
    };
    const auto engine = load_engine_cached(wide_.options(), observe, folder);
    QVERIFY(!engine && engine.error().code == ErrorCode::cancelled);
    const std::int64_t left = tests::anonymous_bytes() - start;
    QVERIFY2(left < 3 * kMiB, qPrintable(QString("%1 bytes are left").arg(left)));
    if (percent == 90) QVERIFY(when_cancelled - start > 6 * kMiB);  // there was something to give back
  }

  void L9_weights_that_are_no_numbers_are_a_warning_data() {
    QTest::addColumn<QString>("quantization");
    QTest::newRow("none") << "none";
    for (const Quantization& quantization : quantizations()) {
      QTest::newRow(quantization.name.data()) << QString::fromStdString(std::string(quantization.name));
    }
  }
  /// A format may make 0 of a NaN, and the largest scale that there is of an infinity: the model loads, and says so whether
  /// its logits tell or not. With a cache it says so each time.
  void L9_weights_that_are_no_numbers_are_a_warning() {
    QFETCH(QString, quantization);
    const QTemporaryDir dir;
    const PackedCacheFolder folder{.path = dir.path().toStdString()};
    for (const float number : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e-42F}) {
      const tests::TinyModelCopy model;
      spoil(model, number);
      EngineOptions options;
      options.model = model.path();
      options.quantization = quantization.toStdString();
      for (const PackedCacheFolder& where : {PackedCacheFolder{}, folder, folder}) {
        const auto engine = load_engine_cached(options, {}, where);
        QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
        const std::vector<std::string>& warnings = (*engine)->model().info.warnings;
        QCOMPARE(std::count(warnings.begin(), warnings.end(), kSpoilt), std::isfinite(number) ? 0 : 1);
        // Requests fail only where that was foretold.
        const bool fails = finish_reason(**engine) == FinishReason::error;
        QCOMPARE(fails, !warnings.empty() && warnings.back().starts_with("the model's logits are not finite"));
        if (std::isfinite(number)) QVERIFY(!fails);
      }
    }
  }

  /// Sizes beyond 2^31 are computed in 64 bits, in rows as in bytes.
  void L12_sizes_beyond_31_bits_are_whole() {
    const auto backend = *open_backend({.n_threads = 1});
    constexpr std::int64_t kN = 1LL << 33, kK = 64;
    constexpr std::size_t kWeights = std::size_t{1} << 39;
    QCOMPARE(backend->packed_bytes(kernels::WeightFormat::nf4, kN, kK), kWeights / 2 + kWeights / 64 * 4);
    QCOMPARE(backend->packed_bytes(kernels::WeightFormat::int8_g32, kN, kK), kWeights + kWeights / 32 * 2);
    QCOMPARE(backend->packed_bytes(kernels::WeightFormat::bf16, kN, kK), kWeights * 2);
    QVERIFY(backend->packed_bytes(kernels::WeightFormat::int8_channel, 16, kN) > static_cast<std::size_t>(16 * kN));
  }

 private:
  const WideModel wide_;
};

LATHE_TEST(LoadQuantizedTest)

}  // namespace load_quantized_test
#include "load_quantized_test.moc"
