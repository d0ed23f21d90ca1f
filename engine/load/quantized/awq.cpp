// SPDX-License-Identifier: Apache-2.0
// AWQ checkpoints in the order of its GEMM kernels, of 4 bits. A matrix [N, K] is qweight I32 [K, N / 8], 8 outputs a word;
// qzeros I32 [groups, N / 8], packed as codes are; scales [groups, N]. A weight is (code - zero) * scale.
// Source: AutoAWQ, WQLinear_GEMM.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/load/quantization_scheme.h"

namespace lathe::engine {

extern const QuantizationScheme kAwqScheme;

namespace {

constexpr int kBits = 4, kPerWord = 8;
constexpr std::int64_t kMaxGroup = std::int64_t{1} << 31;
/// Where in a word the code of each of its outputs lies, counted in codes from the lowest.
constexpr std::array<int, kPerWord> kPlaces = {0, 4, 1, 5, 2, 6, 3, 7};

constexpr std::array<std::string_view, 7> kMeaningless = {
    "backend", "modules_to_not_convert", "do_fuse", "modules_to_fuse", "fuse_max_seq_len", "exllama_config", "desc_act"};

std::uint8_t code_at(std::span<const std::byte> words, std::int64_t row_of_words, std::int64_t n, std::int64_t output) {
  const std::uint32_t word = word_at(words, row_of_words * (n / kPerWord) + output / kPerWord);
  return word >> kBits * kPlaces[static_cast<std::size_t>(output % kPerWord)] & 15;
}

/// Where the parts of a matrix lie.
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

/// Either name, as older and newer tools write them.
std::int64_t integer_of(FieldReader& config, std::string_view name, std::string_view older, std::int64_t min,
                        std::int64_t max) {
  const std::int64_t old_value = config.integer_or(older, min, min, max);
  return config.has(name) || !config.has(older) ? config.integer(name, min, max) : old_value;
}

/// Returns the size of a group; -1: a whole row.
Result<std::int64_t> read_config(FieldReader& config) {
  const std::int64_t bits = integer_of(config, "bits", "w_bit", 1, 16);
  const std::int64_t group = integer_of(config, "group_size", "q_group_size", -1, kMaxGroup);
  if (bits != kBits) config.unmet(fmt::format("codes of {} bits (bits)", bits));
  if (group == 0) config.fault("group_size", "got 0, expected -1 or a positive number");
  if (!config.boolean_or("zero_point", true)) config.unmet("codes without zero points (zero_point)");
  std::string version = config.text_or("version", "gemm");
  std::transform(version.begin(), version.end(), version.begin(), [](unsigned char c) { return std::tolower(c); });
  if (version != "gemm") config.unmet(fmt::format("the packing \"{:.32}\" (version)", version));
  config.note_unknown_keys(kMeaningless);
  LATHE_TRY_VOID(config.finish());
  return group;
}

Result<void> join_module(std::int64_t group_size, const std::string& module, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* qweight, parts.of_type(module + ".qweight", "I32"));
  LATHE_TRY(const StoredTensor* qzeros, parts.of_type(module + ".qzeros", "I32"));
  LATHE_TRY(const StoredTensor* scales, parts.floating(module + ".scales"));
  if (qweight->shape.size() != 2 || qweight->shape[0] < 1 || qweight->shape[1] < 1) {
    return parts.refuse(*qweight, fmt::format("shape: got {}, expected inputs, words", to_string(qweight->shape)));
  }
  const std::int64_t n = qweight->shape[1] * kPerWord, k = qweight->shape[0];
  const std::int64_t group = group_size < 0 ? k : group_size, n_groups = groups_in(k, group);
  LATHE_TRY_VOID(parts.check_shape(*scales, {n_groups, n}));
  LATHE_TRY_VOID(parts.check_shape(*qzeros, {n_groups, n / kPerWord}));
  CodedTensor coded{.form = fmt::format("awq group {}", group),
                    .kind = CodeKind::whole4,
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

Result<void> join(FieldReader& config, TensorParts& parts) {
  LATHE_TRY(const std::int64_t group, read_config(config));
  for (const std::string& module : parts.modules_with(".qweight")) LATHE_TRY_VOID(join_module(group, module, parts));
  return {};
}

}  // namespace

constexpr QuantizationScheme kAwqScheme{.method = "awq", .file = "quant_config.json", .join = join};

}  // namespace lathe::engine
