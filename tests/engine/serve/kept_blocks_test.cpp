// SPDX-License-Identifier: Apache-2.0
// Blocks of GGUF files that stay codes in memory: the same numbers, the memory that inspect says, and files of several
// types.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/api/checkpoint.h"
#include "engine/api/convert.h"
#include "engine/load/gguf/gguf_types.h"
#include "engine/serve/opened_model.h"
#include "kernels/api/dtype.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace kept_blocks_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4K = 12, kQ6K = 14, kBf16 = 30;
constexpr std::int64_t kHidden = 256, kInner = 512, kVocab = 96, kHeads = 4, kKvHeads = 2, kHeadDim = 64, kLayers = 2;

/// A half of a block, with which its numbers are about as large as weights are.
struct Half {
  std::size_t at;
  float number;
};

struct TypeRow {
  std::uint32_t number;
  const char* format;
  int bits;  ///< of a weight in memory
  std::vector<Half> halves;
};

const std::vector<TypeRow>& types() {
  static const std::vector<TypeRow> rows = {{3, "int4_g32_min", 6, {{0, 0.02F}, {2, -0.15F}}},
                                            {6, "int8_g32", 0, {{0, 0.01F}}},  // 8.5 bits: counted by hand
                                            {7, "int8_g32_min", 10, {{0, 0.01F}, {2, -0.15F}}},
                                            {10, "int4_g16_min", 8, {{80, 0.005F}, {82, 0.004F}}},
                                            {11, "int4_g16_min", 8, {{108, 0.002F}}},
                                            {12, "int4_g32_min", 6, {{0, 2e-4F}, {2, 1.5e-3F}}},
                                            {13, "int8_g32_min", 10, {{0, 1e-4F}, {2, 1.5e-3F}}},
                                            {14, "int8_g16", 10, {{208, 5e-5F}}},
                                            {20, "iq4", 5, {{0, 0.002F}}},
                                            {23, "iq4", 5, {{0, 1e-4F}}},
                                            {kQ4_0, "int4_g32", 0, {{0, 0.02F}}}};
  return rows;
}

/// Random numbers of a type, or random blocks.
std::string random_bytes(std::uint32_t number, std::int64_t n, std::uint32_t& seed) {
  const auto next = [&] { return (seed = seed * 1664525 + 1013904223) >> 8; };
  const engine::StoredType& type = *engine::find_gguf_type(number);
  std::string bytes;
  if (type.dtype) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float value = static_cast<float>(next() % 2001) * 1e-4F - 0.1F;
      if (number == kF32) bytes += GgufBuilder::bytes_of(value + 1);  // norms
      else bytes += GgufBuilder::bytes_of(number == kF16 ? kernels::f32_to_f16(value) : kernels::f32_to_bf16(value));
    }
    return bytes;
  }
  const auto block = static_cast<std::size_t>(type.bits / 8);
  const auto row = std::find_if(types().begin(), types().end(), [&](const TypeRow& one) { return one.number == number; });
  bytes.resize(static_cast<std::size_t>(n / type.block) * block);
  for (char& byte : bytes) byte = static_cast<char>(next());
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    for (const Half& half : row->halves) {
      const float value = half.number * (0.75F + static_cast<float>(next() % 64) / 128);
      bytes.replace(at + half.at, 2, GgufBuilder::bytes_of(kernels::f32_to_f16(value)));
    }
  }
  return bytes;
}

/// The type of a tensor by its name.
using TypeOf = std::function<std::uint32_t(const std::string& name)>;

void write_model(const std::string& path, const TypeOf& type_of, bool is_tied = false) {
  GgufBuilder builder;
  const auto number = [&](const char* key, std::int64_t value) {
    builder.value(std::string("llama.") + key, static_cast<std::uint32_t>(value));
  };
  builder.value("general.architecture", std::string_view("llama"));
  number("context_length", 64);
  number("embedding_length", kHidden);
  number("block_count", kLayers);
  number("feed_forward_length", kInner);
  number("attention.head_count", kHeads);
  number("attention.head_count_kv", kKvHeads);
  number("attention.key_length", kHeadDim);
  builder.value("llama.attention.layer_norm_rms_epsilon", 1e-5F).value("llama.rope.freq_base", 10000.0F);
  std::uint32_t seed = 1;
  const auto add = [&](const std::string& name, std::int64_t n, std::int64_t k) {
    const std::uint32_t type = k == 0 ? kF32 : type_of(name);
    const std::vector<std::int64_t> shape = k == 0 ? std::vector{n} : std::vector{n, k};
    builder.tensor(name + ".weight", shape, type, random_bytes(type, n * std::max<std::int64_t>(k, 1), seed));
  };
  add("token_embd", kVocab, kHidden);
  add("output_norm", kHidden, 0);
  if (!is_tied) add("output", kVocab, kHidden);
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    add(blk + "attn_norm", kHidden, 0);
    add(blk + "ffn_norm", kHidden, 0);
    add(blk + "attn_q", kHeads * kHeadDim, kHidden);
    add(blk + "attn_k", kKvHeads * kHeadDim, kHidden);
    add(blk + "attn_v", kKvHeads * kHeadDim, kHidden);
    add(blk + "attn_output", kHidden, kHeads * kHeadDim);
    add(blk + "ffn_gate", kInner, kHidden);
    add(blk + "ffn_up", kInner, kHidden);
    add(blk + "ffn_down", kHidden, kInner);
  }
  write_file(path, builder.bytes());
}

TypeOf layers_in(std::uint32_t number) {
  return [number](const std::string& name) { return name.starts_with("blk.") ? number : kBf16; };
}

constexpr std::int64_t kQkvWeights = (kHeads + 2 * kKvHeads) * kHeadDim * kHidden, kOutWeights = kHeads * kHeadDim * kHidden,
                       kInWeights = 2 * kInner * kHidden, kDownWeights = kInner * kHidden;
constexpr std::int64_t kLayerWeights = kQkvWeights + kOutWeights + kInWeights + kDownWeights;

/// Codes stand for the very numbers, and products of them differ by the rounding of activations.
void check_logits(const std::string& path) {
  const Logits want = logits_of(path, {});
  QVERIFY(std::isfinite(largest_magnitude(want)) && largest_magnitude(want) > 0.1);
  QVERIFY(logits_of(path, {.as_stored = true}) == want);
  for (const std::string& isa : kernels::cpu_isas()) {
    const double error = largest_difference(logits_of(path, {.isa = isa, .as_stored = true}), want);
    QVERIFY2(error <= 0.05 * largest_magnitude(want), (isa + " " + std::to_string(error)).c_str());
  }
}

/// Bytes that the weights take as they are stored, beyond what they take in bf16.
std::int64_t bytes_beyond_bf16(const engine::ModelInfo& info) {
  engine::EngineOptions kept, widened;
  widened.dtype = "bfloat16";
  return engine::estimate_fit(info, kept)->weights - engine::estimate_fit(info, widened)->weights;
}

bool tells_of_decoding(const engine::ModelInfo& info) {
  return std::any_of(info.warnings.begin(), info.warnings.end(),
                     [](const std::string& warning) { return warning.find("become bfloat16 of") != warning.npos; });
}

}  // namespace

class KeptBlocksTest : public QObject {
  Q_OBJECT

  QTemporaryDir made_;
  std::string path(const std::string& name) const { return made_.filePath(QString::fromStdString(name)).toStdString(); }

 private Q_SLOTS:
  void every_type_stays_what_it_is_data() {
    QTest::addColumn<int>("row");
    for (std::size_t i = 0; i < types().size(); ++i) {
      QTest::newRow(std::string(engine::find_gguf_type(types()[i].number)->name).c_str()) << static_cast<int>(i);
    }
  }

  void every_type_stays_what_it_is() {
    QFETCH(int, row);
    const TypeRow& type = types()[static_cast<std::size_t>(row)];
    const std::string file = path(std::string(QTest::currentDataTag()) + ".gguf");
    write_model(file, layers_in(type.number));
    const auto info = engine::inspect_checkpoint(file);
    QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
    QCOMPARE(info->stored_quantization, std::string(type.format));
    QVERIFY(info->stored_layer_quantizations.empty() && !tells_of_decoding(*info));
    const std::int64_t n = kLayers * kLayerWeights;
    const std::int64_t kept = type.bits > 0 ? n * type.bits / 8 : n * (type.number == kQ4_0 ? 4 : 8) / 8 + n / 32 * 2;
    QCOMPARE(bytes_beyond_bf16(*info), kept - 2 * n);
    check_logits(file);
  }

  /// As "Q4_K_M" files are: V and down of some layers in Q6_K, the head too. Q, K and V lie in one matrix: in such a layer
  /// it has the format that both types can have.
  void matrices_of_one_file_have_several_formats() {
    const std::string file = path("q4_k_m.gguf");
    write_model(file, [](const std::string& name) {
      if (name == "token_embd") return kBf16;
      const bool is_long = name == "output" || name == "blk.0.attn_v" || name == "blk.0.ffn_down";
      return is_long ? kQ6K : kQ4K;
    });
    const auto info = engine::inspect_checkpoint(file);
    QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
    QCOMPARE(info->stored_quantization, std::string("int8_g16_min + int4_g32_min + int8_g16"));
    QCOMPARE(info->stored_head_quantization, std::string("int8_g16"));
    const std::vector<std::array<std::string, 6>> layers = {
        {"int8_g16_min", "int4_g32_min", "int4_g32_min", "int8_g16", "", ""},
        {"int4_g32_min", "int4_g32_min", "int4_g32_min", "int4_g32_min", "", ""}};
    QCOMPARE(info->stored_layer_quantizations, layers);
    QVERIFY(!tells_of_decoding(*info));
    const std::int64_t first = kQkvWeights * 12 + (kOutWeights + kInWeights) * 6 + kDownWeights * 10;
    const std::int64_t second = kLayerWeights * 6, head = kVocab * kHidden * 10;
    QCOMPARE(bytes_beyond_bf16(*info), (first + second + head) / 8 - 2 * (2 * kLayerWeights + kVocab * kHidden));
    check_logits(file);
  }

  void numbers_beside_codes_stay_numbers() {
    const std::string file = path("part.gguf");
    write_model(file, [](const std::string& name) { return name.starts_with("blk.1") ? kQ4_0 : kBf16; });
    const auto info = engine::inspect_checkpoint(file);
    QCOMPARE(info->stored_quantization, std::string("int4_g32"));
    QCOMPARE(info->stored_layer_quantizations.front().front(), std::string());
    QCOMPARE(bytes_beyond_bf16(*info), kLayerWeights / 2 + kLayerWeights / 32 * 2 - 2 * kLayerWeights);
    check_logits(file);
  }

  /// Embeddings that are the head too are rows of numbers, and a matrix of the codes.
  void a_tied_head_has_the_codes_of_the_embeddings() {
    for (const std::uint32_t type : {kQ4K, kQ6K}) {
      const std::string file = path("tied.gguf");
      write_model(
          file, [type](const std::string& name) { return name == "token_embd" ? type : kQ4K; }, true);
      const auto info = engine::inspect_checkpoint(file);
      QCOMPARE(info->stored_head_quantization, std::string(type == kQ4K ? "int4_g32_min" : "int8_g16"));
      check_logits(file);
    }
  }

  /// Q in blocks whose codes K and V cannot have: the three become numbers, the others stay.
  void what_has_no_format_in_common_becomes_numbers() {
    const std::string file = path("apart.gguf");
    write_model(file, [](const std::string& name) {
      if (!name.starts_with("blk.")) return kBf16;
      return name == "blk.1.attn_q" ? kQ4_0 : kQ4K;
    });
    const auto info = engine::inspect_checkpoint(file);
    QCOMPARE(info->stored_layer_quantizations[1][0], std::string());
    QCOMPARE(info->stored_quantization, std::string("int4_g32_min"));
    const std::string& warning = info->warnings.front();
    QVERIFY2(warning.find("3 tensors: matrices that are multiplied together") != warning.npos, warning.c_str());
    const std::int64_t kept = (2 * kLayerWeights - kQkvWeights) * 6 / 8;
    QCOMPARE(bytes_beyond_bf16(*info), kept - 2 * (2 * kLayerWeights - kQkvWeights));
    check_logits(file);
  }

  void converting_leaves_blocks_and_their_numbers_data() { every_type_stays_what_it_is_data(); }
  void converting_leaves_blocks_and_their_numbers() {
    QFETCH(int, row);
    const std::string name = QTest::currentDataTag(), from = path(name + "-from.gguf"), to = path(name + "-to.gguf");
    write_model(from, layers_in(types()[static_cast<std::size_t>(row)].number));
    engine::EngineOptions options;
    options.model = from;
    QVERIFY(engine::convert_checkpoint(options, {.output = to, .write_codes = true}, {}).has_value());
    const auto before = engine::open_model(from), after = engine::open_model(to);
    for (const engine::StoredTensor& tensor : before->checkpoint.tensors()) {
      const engine::StoredTensor& same = *after->checkpoint.find(tensor.name);
      QVERIFY(same.type == tensor.type && std::ranges::equal(same.bytes, tensor.bytes));
    }
    options.dtype = "float32";
    QVERIFY(engine::convert_checkpoint(options, {.output = path(name)}, {}).has_value());
    QVERIFY(logits_of(path(name), {}) == logits_of(from, {}));
  }

  void a_quantization_that_is_asked_for_has_its_way() {
    const std::string file = path("asked.gguf");
    write_model(file, layers_in(kQ4K));
    RunnerChoice choice{.as_stored = true};
    choice.quantization.quantization = "int8_g32";
    const Logits want = logits_of(file, {}), got = logits_of(file, choice);
    QVERIFY(got != want && largest_difference(got, want) <= 0.05 * largest_magnitude(want));
  }
};

LATHE_TEST(KeptBlocksTest)

}  // namespace kept_blocks_test
#include "kept_blocks_test.moc"
