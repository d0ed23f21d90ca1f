// SPDX-License-Identifier: Apache-2.0
// Reads AWQ checkpoints of 4 bits in four packings: GEMM, GEMV, GEMVFast and Marlin. gemv_matrix.h describes the layout of
// GEMV and GEMVFast, marlin_matrix.h that of Marlin. In GEMM a matrix [N, K] is qweight I32 [K, N / 8], 8 outputs per word;
// qzeros I32 [groups, N / 8], packed like codes; scales [groups, N]. A weight is (code - zero) * scale. Source: AutoAWQ,
// WQLinear_GEMM.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/load/matrices/gemv_matrix.h"
#include "engine/load/matrices/marlin_matrix.h"
#include "engine/load/quantization_scheme.h"
#include "engine/load/quantized/quantizer_notes.h"

namespace lathe::engine {
namespace {

constexpr int kAwqBits = 4, kAwqPerWord = 8;
constexpr std::int64_t kAwqMaxGroup = std::int64_t{1} << 31;
/// Position in a word of the code of each of its 8 outputs, in codes from the lowest bits.
constexpr std::array<int, kAwqPerWord> kPlaces = {0, 4, 1, 5, 2, 6, 3, 7};

// Keys that are hints to other programs.
constexpr auto kAwqMeaningless = with_quantizer_notes(
    std::array<std::string_view, 4>{"modules_to_not_convert", "do_fuse", "modules_to_fuse", "fuse_max_seq_len"});

std::uint8_t code_at(std::span<const std::byte> words, std::int64_t row_of_words, std::int64_t n, std::int64_t output) {
  const std::uint32_t word = word_at(words, row_of_words * (n / kAwqPerWord) + output / kAwqPerWord);
  return word >> kAwqBits * kPlaces[static_cast<std::size_t>(output % kAwqPerWord)] & 15;
}

/// Layout of the matrix parts in the files, in the packing GEMM.
struct AwqMatrix {
  std::int64_t n, k, n_groups;
  std::span<const std::byte> qweight, qzeros;
  NumberList scales;

  void read(CodedRows& rows) const {
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t r = 0; r < rows.n; ++r) {
        rows.codes[static_cast<std::size_t>(r * k + i)] = code_at(qweight, i, n, rows.first + r);
      }
    }
    for (std::int64_t group = 0; group < n_groups; ++group) {
      for (std::int64_t r = 0; r < rows.n; ++r) {
        const auto at = static_cast<std::size_t>(r * n_groups + group);
        rows.scales[at] = scales.at(group * n + rows.first + r);
        rows.zeros[at] = code_at(qzeros, group, n, rows.first + r);
      }
    }
  }
};

/// One layout of quantized matrices in files.
struct Packing {
  std::string_view name;
  bool has_zeros = true;
  /// Joins one matrix. `group`: weights of a row that share a scale; -1: all weights of the row.
  Result<void> (*join)(std::int64_t group, const std::string& module, TensorParts& parts);
};

Result<void> join_gemm(std::int64_t group_size, const std::string& module, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* qweight, parts.of_type(module + ".qweight", "I32"));
  LATHE_TRY(const StoredTensor* qzeros, parts.of_type(module + ".qzeros", "I32"));
  LATHE_TRY(const StoredTensor* scales, parts.floating(module + ".scales"));
  if (qweight->shape.size() != 2 || qweight->shape[0] < 1 || qweight->shape[1] < 1) {
    return parts.refuse(*qweight, fmt::format("shape: got {}, expected [inputs, words]", to_string(qweight->shape)));
  }
  const std::int64_t n = qweight->shape[1] * kAwqPerWord, k = qweight->shape[0];
  const std::int64_t group = group_size < 0 ? k : group_size, n_groups = groups_in(k, group);
  LATHE_TRY_VOID(parts.check_shape(*scales, {n_groups, n}));
  LATHE_TRY_VOID(parts.check_shape(*qzeros, {n_groups, n / kAwqPerWord}));
  CodedTensor coded{.form = fmt::format("awq group {}", group),
                    .kind = CodeEncoding::int4,
                    .n_rows = n,
                    .k = k,
                    .n_groups = n_groups,
                    .group = group,
                    .has_zeros = true};
  const AwqMatrix matrix{n, k, n_groups, qweight->bytes, qzeros->bytes, numbers_in(*scales)};
  coded.numbers = numbers_of(coded.kind);
  coded.read = [matrix](CodedRows& rows) { matrix.read(rows); };
  coded.formats = formats_that_keep(coded, {.are_halves = matrix.scales.are_halves(), .are_middle = false});
  parts.join(module + ".weight", std::move(coded), {qweight, qzeros, scales});
  return {};
}

template <bool is_fast>
Result<void> join_gemv(std::int64_t group, const std::string& module, TensorParts& parts) {
  GemvMatrix matrix{.is_fast = is_fast, .group = group};
  LATHE_TRY(matrix.codes, parts.of_type(module + ".qweight", is_fast ? "I16" : "I32"));
  LATHE_TRY(matrix.scales, parts.floating(module + ".scales"));
  LATHE_TRY(matrix.zeros, is_fast ? parts.floating(module + ".qzeros") : parts.of_type(module + ".qzeros", "I32"));
  LATHE_TRY(CodedTensor coded, coded_of(matrix, parts));
  parts.join(module + ".weight", std::move(coded), {matrix.codes, matrix.scales, matrix.zeros});
  return {};
}

Result<void> join_awq_marlin(std::int64_t group, const std::string& module, TensorParts& parts) {
  MarlinMatrix matrix{.group = group};
  LATHE_TRY(matrix.codes, parts.of_type(module + ".qweight", "I32"));
  LATHE_TRY(matrix.scales, parts.floating(module + ".scales"));
  LATHE_TRY(CodedTensor coded, coded_of(matrix, parts));
  parts.join(module + ".weight", std::move(coded), {matrix.codes, matrix.scales});
  return {};
}

// THE TABLE of packings, by `version`.
constexpr std::array kPackings = {
    Packing{.name = "gemm", .join = join_gemm},
    Packing{.name = "gemv", .join = join_gemv<false>},
    Packing{.name = "gemv_fast", .join = join_gemv<true>},
    Packing{.name = "marlin", .has_zeros = false, .join = join_awq_marlin},
};

/// Reads the packing from `version`, or from the names that newer tools use; "llm-awq" is the packing of the program of that
/// name. Null: the packing is not supported.
const Packing* read_packing(JsonFieldReader& config) {
  std::string name = config.text_or("version", config.text_or("checkpoint_format", config.text_or("format", "gemm")));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (config.text_or("backend", "") == "llm-awq") name = "llm-awq";
  std::string known;
  for (const Packing& packing : kPackings) {
    if (packing.name == name) return &packing;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", packing.name);
  }
  config.unmet(fmt::format("the packing \"{:.32}\" (version; known: {})", name, known));
  return nullptr;
}

/// Reads an integer under its newer or its older name.
std::int64_t integer_of(JsonFieldReader& config, std::string_view name, std::string_view older, std::int64_t min,
                        std::int64_t max) {
  const std::int64_t old_value = config.integer_or(older, min, min, max);
  return config.has(name) || !config.has(older) ? config.integer(name, min, max) : old_value;
}

struct Awq {
  const Packing* packing = nullptr;
  std::int64_t group = -1;  ///< weights of a row that share a scale; -1: all weights of the row
};

Result<Awq> read_awq_config(JsonFieldReader& config) {
  const std::int64_t bits = integer_of(config, "bits", "w_bit", 1, 16);
  const std::int64_t group = integer_of(config, "group_size", "q_group_size", -1, kAwqMaxGroup);
  if (bits != kAwqBits) config.unmet(fmt::format("codes of {} bits (bits)", bits));
  if (group == 0) config.fault("group_size", "got 0, expected -1 or a positive number");
  const Packing* packing = read_packing(config);
  const bool has_zeros = config.boolean_or("zero_point", packing == nullptr || packing->has_zeros);
  if (packing != nullptr && has_zeros != packing->has_zeros) {
    config.unmet(
        fmt::format("codes {} zero points in the packing {} (zero_point)", has_zeros ? "with" : "without", packing->name));
  }
  if (config.text_or("pack_dtype", "int32") != "int32") config.unmet("words of another size (pack_dtype)");
  if (const Json* dynamic = config.object("dynamic"); dynamic != nullptr && !dynamic->empty()) {
    config.unmet("other settings for some modules (dynamic)");
  }
  config.note_unknown_keys(kAwqMeaningless);
  LATHE_TRY_VOID(config.finish());
  return Awq{packing, group};
}

Result<void> join_awq(JsonFieldReader& config, TensorParts& parts) {
  LATHE_TRY(const Awq awq, read_awq_config(config));
  for (const std::string& module : parts.modules_with(".qweight"))
    LATHE_TRY_VOID(awq.packing->join(awq.group, module, parts));
  return {};
}

}  // namespace

extern constexpr QuantizationScheme kAwqScheme{.method = "awq", .file = "quant_config.json", .join = join_awq};

}  // namespace lathe::engine
