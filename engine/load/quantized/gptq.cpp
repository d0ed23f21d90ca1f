// SPDX-License-Identifier: Apache-2.0
// Reads GPTQ checkpoints of 4 and 8 bits. A matrix [N, K] is qweight I32 [K bits / 32, N], codes along K from the lowest
// bits up; qzeros I32 [groups, N bits / 32], zero points along N; scales [groups, N]; g_idx I32 [K], the group of each
// input.
// A weight is (code - zero) * scale. Files of the format "gptq" store zero - 1, files of "gptq_v2" the zero point itself. In
// the format "marlin" a matrix of 4 bits is B and s instead, in Marlin tiles. Source: AutoGPTQ and GPTQModel, their
// QuantLinear.
#include <fmt/format.h>

#include <array>

#include "engine/load/matrices/marlin_matrix.h"
#include "engine/load/quantization_scheme.h"
#include "engine/load/quantized/quantizer_notes.h"

namespace lathe::engine {
namespace {

constexpr int kGptqWordBits = 32;
constexpr std::int64_t kGptqMaxGroup = std::int64_t{1} << 31;

// Keys about how a checkpoint was made, and hints to other programs.
constexpr auto kGptqMeaningless = with_quantizer_notes(
    std::array<std::string_view, 10>{"model_file_base_name", "backend", "use_cuda_fp16", "use_exllama", "disable_exllama",
                                     "quantizer", "v2", "v2_alpha", "v2_memory_device", "parallel_packing"});

struct Gptq {
  int bits = 4;
  std::int64_t group = -1;  ///< weights of a row that share a scale; -1: a whole row
  int zero_offset = 1;      ///< added to stored zero points
  bool is_marlin = false;
  std::uint32_t mask() const { return (1U << bits) - 1; }
  int per_word() const { return kGptqWordBits / bits; }
};

/// Refuses rules with other settings. Rules that exclude modules ("-:name") need no reading, since such modules have
/// unquantized tensors.
void check_dynamic(JsonFieldReader& config, const Json& json) {
  for (const auto& [rule, change] : json.items()) {
    if (!rule.starts_with("-:")) config.unmet(fmt::format("other settings for some modules (dynamic: {:.64})", rule));
  }
}

Result<Gptq> read_gptq_config(JsonFieldReader& config) {
  Gptq gptq;
  gptq.bits = static_cast<int>(config.integer("bits", 1, 16));
  gptq.group = config.integer_or("group_size", -1, -1, kGptqMaxGroup);
  if (gptq.bits != 4 && gptq.bits != 8) config.unmet(fmt::format("codes of {} bits (bits)", gptq.bits));
  if (gptq.group == 0) config.fault("group_size", "got 0, expected -1 or a positive number");
  const std::string format = config.text_or("checkpoint_format", config.text_or("format", "gptq"));
  if (format == "gptq_v2") gptq.zero_offset = 0;
  gptq.is_marlin = config.boolean_or("is_marlin_format", false) || format == "marlin";
  if (format != "gptq" && format != "gptq_v2" && format != "marlin")
    config.unmet(fmt::format("the packing \"{:.32}\" (checkpoint_format; known: gptq, gptq_v2, marlin)", format));
  if (gptq.is_marlin && gptq.bits != 4) config.unmet(fmt::format("codes of {} bits in Marlin's tiles (bits)", gptq.bits));
  if (gptq.is_marlin && config.boolean_or("desc_act", false)) config.unmet("activation order in Marlin's tiles (desc_act)");
  // Marlin tiles have no zero points: reading them would assume the middle.
  if (gptq.is_marlin && !config.boolean_or("sym", true)) config.unmet("zero points in Marlin's tiles (sym)");
  if (config.text_or("pack_dtype", "int32") != "int32") config.unmet("words of another size (pack_dtype)");
  if (const Json* dynamic = config.object("dynamic")) check_dynamic(config, *dynamic);
  config.note_unknown_keys(kGptqMeaningless);
  LATHE_TRY_VOID(config.finish());
  return gptq;
}

/// Layout of the matrix parts in the files.
struct GptqMatrix {
  std::int64_t n, k, n_groups;
  Gptq gptq;
  std::span<const std::byte> qweight, qzeros;
  NumberList scales;

  void read(CodedRows& rows) const {
    const int per_word = gptq.per_word();
    for (std::int64_t word = 0; word < k / per_word; ++word) {
      for (std::int64_t r = 0; r < rows.n; ++r) {
        std::uint32_t bits = word_at(qweight, word * n + rows.first + r);
        std::uint8_t* const codes = rows.codes.data() + r * k + word * per_word;
        for (int i = 0; i < per_word; ++i, bits >>= gptq.bits) codes[i] = static_cast<std::uint8_t>(bits & gptq.mask());
      }
    }
    for (std::int64_t group = 0; group < n_groups; ++group) {
      for (std::int64_t r = 0; r < rows.n; ++r) {
        const auto at = static_cast<std::size_t>(r * n_groups + group);
        rows.scales[at] = scales.at(group * n + rows.first + r);
        rows.zeros[at] = static_cast<float>(zero_of(group, rows.first + r));
      }
    }
  }

  /// Zero point of a row and group. The sum wraps in the bits of a code, as in the readers of such files.
  std::uint32_t zero_of(std::int64_t group, std::int64_t row) const {
    const int per_word = gptq.per_word();
    const std::uint32_t word = word_at(qzeros, group * (n / per_word) + row / per_word);
    return ((word >> row % per_word * gptq.bits) + static_cast<std::uint32_t>(gptq.zero_offset)) & gptq.mask();
  }

  bool zeros_are_middle() const {
    const std::uint32_t middle = 1U << (gptq.bits - 1);
    std::uint32_t word = 0;
    for (int i = 0; i < gptq.per_word(); ++i)
      word = word << (gptq.bits - 1) << 1 | (middle - static_cast<std::uint32_t>(gptq.zero_offset));
    for (std::int64_t i = 0; i < std::ssize(qzeros) / 4; ++i) {
      if (word_at(qzeros, i) != word) return false;
    }
    return true;
  }
};

Result<void> join_gptq_module(const Gptq& gptq, const std::string& module, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* qweight, parts.of_type(module + ".qweight", "I32"));
  LATHE_TRY(const StoredTensor* qzeros, parts.of_type(module + ".qzeros", "I32"));
  LATHE_TRY(const StoredTensor* scales, parts.floating(module + ".scales"));
  if (qweight->shape.size() != 2 || qweight->shape[0] < 1 || qweight->shape[1] < 1) {
    return parts.refuse(*qweight, fmt::format("shape: got {}, expected [words, outputs]", to_string(qweight->shape)));
  }
  const int per_word = gptq.per_word();
  const std::int64_t n = qweight->shape[1], k = qweight->shape[0] * per_word;
  if (n % per_word != 0) {
    return parts.refuse(*qweight,
                        fmt::format("{} outputs, which is not a multiple of the {} zero points in a word", n, per_word));
  }
  const std::int64_t group = gptq.group < 0 ? k : gptq.group, n_groups = groups_in(k, group);
  LATHE_TRY_VOID(parts.check_shape(*scales, {n_groups, n}));
  LATHE_TRY_VOID(parts.check_shape(*qzeros, {n_groups, n / per_word}));
  const StoredTensor* g_idx = parts.find(module + ".g_idx");
  CodedTensor coded{.form = fmt::format("gptq {} bits group {} zeros {}", gptq.bits, group, gptq.zero_offset),
                    .kind = gptq.bits == 4 ? CodeEncoding::int4 : CodeEncoding::int8,
                    .n_rows = n,
                    .k = k,
                    .n_groups = n_groups,
                    .group = group,
                    .has_zeros = true};
  if (g_idx != nullptr) {
    LATHE_TRY(coded.group_of, parts.read_order(*g_idx, k, group));
  }
  const GptqMatrix matrix{n, k, n_groups, gptq, qweight->bytes, qzeros->bytes, numbers_in(*scales)};
  coded.numbers = numbers_of(coded.kind);
  coded.read = [matrix](CodedRows& rows) { matrix.read(rows); };
  coded.formats = formats_that_keep(coded, {matrix.scales.are_halves(), matrix.zeros_are_middle()});
  parts.join(module + ".weight", std::move(coded), {qweight, qzeros, scales, g_idx});
  return {};
}

Result<void> join_gptq_marlin(const Gptq& gptq, const std::string& module, TensorParts& parts) {
  MarlinMatrix matrix{.group = gptq.group};
  LATHE_TRY(matrix.codes, parts.of_type(module + ".B", "I32"));
  LATHE_TRY(matrix.scales, parts.floating(module + ".s"));
  LATHE_TRY(CodedTensor coded, coded_of(matrix, parts));
  // The workspace is scratch memory of kernels that some tools save.
  parts.join(module + ".weight", std::move(coded), {matrix.codes, matrix.scales, parts.find(module + ".workspace")});
  return {};
}

Result<void> join_gptq(JsonFieldReader& config, TensorParts& parts) {
  const bool is_ordered = config.boolean_or("desc_act", false);
  LATHE_TRY(const Gptq gptq, read_gptq_config(config));
  if (gptq.is_marlin) {
    for (const std::string& module : parts.modules_with(".B")) LATHE_TRY_VOID(join_gptq_marlin(gptq, module, parts));
    return {};
  }
  for (const std::string& module : parts.modules_with(".qweight")) {
    // Without g_idx every weight would get a wrong scale.
    if (is_ordered) LATHE_TRY_VOID(parts.of_type(module + ".g_idx", "I32"));
    LATHE_TRY_VOID(join_gptq_module(gptq, module, parts));
  }
  return {};
}

}  // namespace

extern constexpr QuantizationScheme kGptqScheme{.method = "gptq", .file = "quantize_config.json", .join = join_gptq};

}  // namespace lathe::engine
