// SPDX-License-Identifier: Apache-2.0
// FP8 with a scale for each block of 128 by 128: bytes that stay bytes in memory, from the folder to tokens.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/api/checkpoint.h"
#include "engine/api/convert.h"
#include "kernels/api/dtype.h"
#include "tests/support/dequantized_copy.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/runner_driver.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/test_class.h"

namespace fp8_blocks_test {

using namespace lathe;
using namespace lathe::tests;
using engine::Json;

namespace {

constexpr std::int64_t kBlock = 128;

std::int64_t blocks_in(std::int64_t n) { return (n + kBlock - 1) / kBlock; }

/// A file of weights of random bytes.
class Fp8Weights {
 public:
  /// Numbers in bfloat16 around `middle`.
  void add_numbers(const std::string& name, const std::vector<std::int64_t>& shape, float middle = 0) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    const std::size_t begin = data_.size();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint16_t bits = kernels::f32_to_bf16(middle + static_cast<float>(next() % 2001) * 1e-4F - 0.1F);
      data_.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    tell(name, "BF16", shape, begin);
  }

  /// A matrix in blocks: "m.weight" and "m.weight_scale_inv".
  void add_blocks(const std::string& module, std::int64_t n, std::int64_t k) {
    const std::size_t begin = data_.size();
    for (std::int64_t i = 0; i < n * k; ++i) {
      const std::uint32_t code = next() % 254;
      data_.push_back(static_cast<char>(code < 127 ? code : code + 1));  // none that is no number
    }
    tell(module + ".weight", "F8_E4M3", {n, k}, begin);
    const std::size_t begin_of_scales = data_.size();
    for (std::int64_t i = 0; i < blocks_in(n) * blocks_in(k); ++i) {
      const float scale = static_cast<float>(next() % 1000 + 500) * 8e-7F;
      data_.append(reinterpret_cast<const char*>(&scale), sizeof scale);
    }
    tell(module + ".weight_scale_inv", "F32", {blocks_in(n), blocks_in(k)}, begin_of_scales);
  }

  std::string bytes() const { return length_prefix(header_.dump().size()) + header_.dump() + data_; }

 private:
  std::uint32_t next() { return (seed_ = seed_ * 1664525 + 1013904223) >> 8; }
  void tell(const std::string& name, const char* dtype, const std::vector<std::int64_t>& shape, std::size_t begin) {
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
  }

  std::uint32_t seed_ = 17;
  Json header_ = Json::object();
  std::string data_;
};

constexpr std::int64_t kHidden = 160, kInner = 144, kExpert = 136, kExperts = 4, kVocab = 96;

void add_mlp(Fp8Weights& weights, const std::string& name, std::int64_t inner) {
  weights.add_blocks(name + ".gate_proj", inner, kHidden);
  weights.add_blocks(name + ".up_proj", inner, kHidden);
  weights.add_blocks(name + ".down_proj", kHidden, inner);
}

/// Latent attention with 4 heads: 12 dimensions without RoPE and 8 with RoPE, 10 of V; ranks 20 (Q) and 24 (KV).
void add_latent_attention(Fp8Weights& weights, const std::string& name) {
  weights.add_blocks(name + ".q_a_proj", 20, kHidden);
  weights.add_numbers(name + ".q_a_layernorm.weight", {20}, 1);
  weights.add_blocks(name + ".q_b_proj", 80, 20);
  weights.add_blocks(name + ".kv_a_proj_with_mqa", 32, kHidden);
  weights.add_numbers(name + ".kv_a_layernorm.weight", {24}, 1);
  weights.add_blocks(name + ".kv_b_proj", 88, 24);
  weights.add_blocks(name + ".o_proj", kHidden, 40);
}

/// DeepSeek-V3 as it is published: a dense layer, one of experts, all matrices of both in blocks.
std::string write_deepseek(const QTemporaryDir& folder) {
  Fp8Weights weights;
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) weights.add_numbers(name, {kVocab, kHidden});
  weights.add_numbers("model.norm.weight", {kHidden}, 1);
  for (const std::string layer : {"model.layers.0", "model.layers.1"}) {
    for (const char* norm : {".input_layernorm.weight", ".post_attention_layernorm.weight"}) {
      weights.add_numbers(layer + norm, {kHidden}, 1);
    }
    add_latent_attention(weights, layer + ".self_attn");
  }
  add_mlp(weights, "model.layers.0.mlp", kInner);
  const std::string experts = "model.layers.1.mlp.";
  weights.add_numbers(experts + "gate.weight", {kExperts, kHidden});
  weights.add_numbers(experts + "gate.e_score_correction_bias", {kExperts});
  for (int i = 0; i < kExperts; ++i) add_mlp(weights, experts + "experts." + std::to_string(i), kExpert);
  add_mlp(weights, experts + "shared_experts", kExpert);
  Json config = read_json_file(source_path("tests/fixtures/families/deepseek-v3/config.json"));
  config.update(
      {{"hidden_size", kHidden},
       {"intermediate_size", kInner},
       {"moe_intermediate_size", kExpert},
       {"n_routed_experts", kExperts},
       {"n_shared_experts", 1},
       {"attention_bias", false},
       {"quantization_config", {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", {kBlock, kBlock}}}}});
  const std::string path = folder.path().toStdString();
  write_file(path + "/config.json", config.dump());
  write_file(path + "/model.safetensors", weights.bytes());
  return path;
}

std::string told_of_decoding(const engine::ModelInfo& info) {
  for (const std::string& warning : info.warnings) {
    if (warning.starts_with("quantized weights of ")) return warning;
  }
  return "";
}

std::int64_t weights_in_memory(const std::string& path, const std::string& isa, bool as_stored) {
  RunnerDriver driver(path, {.isa = isa, .dtype = kernels::Dtype::bf16, .as_stored = as_stored});
  return driver.runner().memory().weights;
}

std::int64_t estimated_weights(const engine::ModelInfo& info, const std::string& isa, const std::string& dtype) {
  engine::EngineOptions options;
  options.isa = isa;
  options.threads = 2;
  options.dtype = dtype;
  return engine::estimate_fit(info, options)->weights;
}

}  // namespace

class Fp8BlocksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void tokens_are_those_of_the_numbers();
  void sixteen_bits_give_tokens_as_good();
  void memory_is_that_of_bytes_and_scales();
  void latent_attention_alone_becomes_numbers();
  void experts_give_the_logits_of_their_numbers();
};

/// Activations stay as they are: nothing but the order of additions differs.
void Fp8BlocksTest::tokens_are_those_of_the_numbers() {
  const std::string path = quantized_path("fp8-block-128");
  const QTemporaryDir made;
  const std::string numbers = dequantized_copy(path, made);
  const std::vector<std::int32_t> prompt{3, 17, 42, 8, 61};
  const std::vector<std::int32_t> want = RunnerDriver(numbers, {}).greedy(prompt, 24);
  QCOMPARE(RunnerDriver(path, {.as_stored = true}).greedy(prompt, 24), want);
  const Logits logits = logits_of(numbers, {});
  for (const std::string& isa : kernels::cpu_isas()) {
    const RunnerChoice choice{.isa = isa, .as_stored = true};
    QCOMPARE(RunnerDriver(path, choice).greedy(prompt, 24), want);
    const double error = largest_difference(logits_of(path, choice), logits) / largest_magnitude(logits);
    QVERIFY2(error <= 1e-5, (isa + " " + std::to_string(error)).c_str());
  }
}

/// With weights decoded to bf16 instead of kept as codes, each token is still the best one, up to that rounding.
void Fp8BlocksTest::sixteen_bits_give_tokens_as_good() {
  const std::string path = quantized_path("fp8-block-128");
  std::vector<std::int32_t> context{3, 17, 42, 8, 61};
  const std::vector<std::int32_t> tokens = RunnerDriver(path, {.as_stored = true}).greedy(context, 24);
  const std::size_t n_prompt = context.size();
  context.insert(context.end(), tokens.begin(), tokens.end());
  for (const std::string& isa : kernels::cpu_isas()) {
    RunnerDriver rounded(path, {.isa = isa, .dtype = kernels::Dtype::bf16});
    const Logits logits = rounded.step({{0, context, static_cast<int>(context.size())}});
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::vector<float>& row = logits[n_prompt - 1 + i];
      const float lost = *std::max_element(row.begin(), row.end()) - row[static_cast<std::size_t>(tokens[i])];
      QVERIFY2(lost <= 0.02 * largest_magnitude(logits), (isa + " " + std::to_string(lost)).c_str());
    }
  }
}

void Fp8BlocksTest::memory_is_that_of_bytes_and_scales() {
  const std::string path = quantized_path("fp8-block-128");
  const auto info = engine::inspect_checkpoint(path);
  QVERIFY(info.has_value());
  QCOMPARE(info->stored_quantization, std::string("fp8_g128"));
  QCOMPARE(told_of_decoding(*info), std::string());
  for (const std::string& isa : kernels::cpu_isas()) {
    const std::int64_t kept = weights_in_memory(path, isa, true), rounded = weights_in_memory(path, isa, false);
    QCOMPARE(kept, estimated_weights(*info, isa, "auto"));
    QCOMPARE(rounded, estimated_weights(*info, isa, "bfloat16"));
    // k is filled up to whole groups: 144 become 256, 160 too and 272 become 384. A scale is 4 bytes for 128.
    const std::int64_t groups_of_rows = (160 + 80 + 80) * 2 + 144 * 2 + 2 * 272 * 2 + 144 * 3;
    const std::int64_t numbers = 144 * (160 + 80 + 80 + 160 + 3 * 272);
    QCOMPARE(rounded - kept, 2 * numbers - groups_of_rows * (128 + 4));
  }
}

void Fp8BlocksTest::latent_attention_alone_becomes_numbers() {
  const QTemporaryDir folder;
  const std::string path = write_deepseek(folder);
  const auto info = engine::inspect_checkpoint(path);
  QVERIFY2(info.has_value(), info ? "" : (info.error().where + ": " + info.error().message).c_str());
  QCOMPARE(info->stored_quantization, std::string("fp8_g128"));
  QCOMPARE(info->stored_expert_quantization, std::string("fp8_g128"));
  QCOMPARE(info->stored_dtype, std::string("bfloat16"));
  const QString told = QString::fromStdString(told_of_decoding(*info));
  QVERIFY2(told.contains("(10 tensors: latent attention needs numbers instead of codes)"), qPrintable(told));
  for (const std::string& isa : kernels::cpu_isas()) {
    QCOMPARE(weights_in_memory(path, isa, true), estimated_weights(*info, isa, "auto"));
    QVERIFY(estimated_weights(*info, isa, "auto") < estimated_weights(*info, isa, "bfloat16"));
  }
}

void Fp8BlocksTest::experts_give_the_logits_of_their_numbers() {
  const QTemporaryDir folder, made;
  const std::string path = write_deepseek(folder), numbers = dequantized_copy(path, made);
  const Logits want = logits_of(numbers, {});
  QVERIFY(largest_magnitude(want) > 0.1);
  QVERIFY(logits_of(path, {.as_stored = true}) == want);
  for (const std::string& isa : kernels::cpu_isas()) {
    const double error = largest_difference(logits_of(path, {.isa = isa, .as_stored = true}), want);
    QVERIFY2(error <= 1e-4 * largest_magnitude(want), (isa + " " + std::to_string(error)).c_str());
  }
}

LATHE_TEST(Fp8BlocksTest)

}  // namespace fp8_blocks_test
#include "fp8_blocks_test.moc"
