// SPDX-License-Identifier: Apache-2.0
// Reads compressed-tensors checkpoints: weights stored as INT8 or FP8 ("int-quantized", "float-quantized",
// "naive-quantized"), or as INT4 or INT8 packed into words along K ("pack-quantized"), with scales per matrix, row, group or
// block. A weight is (code - zero) * scale; packed codes and zero points are unsigned. In "marlin-24" (2:4 sparse) two of
// four weights are left out, the others are INT4 or INT8 in Marlin tiles.
// Scales of activations are ignored: activations get their own scales, or are not quantized.
// Source: vllm-project/compressed-tensors, compressors and quantization/quant_args.py.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "engine/load/matrices/byte_matrix.h"
#include "engine/load/matrices/marlin_matrix.h"
#include "engine/load/quantization_scheme.h"

namespace lathe::engine {
namespace {

constexpr int kPackedWordBits = 32;
constexpr std::string_view kMarlin24 = "marlin-24";

constexpr std::array<std::string_view, 8> kSchemeMeaningless = {"quantization_status",
                                                                "ignore",
                                                                "global_compression_ratio",
                                                                "version",
                                                                "kv_cache_scheme",
                                                                "run_compressed",
                                                                "model",
                                                                "recipe"};
constexpr std::array<std::string_view, 2> kMeaninglessOfGroups = {"targets", "input_activations"};
constexpr std::array<std::string_view, 5> kMeaninglessOfWeights = {"observer", "observer_kwargs", "scale_dtype", "zp_dtype",
                                                                   "actorder"};

/// The quantization settings that all matrices share.
struct Scheme {
  bool is_float = false, is_packed = false, is_marlin = false, is_symmetric = true, is_ordered = false;
  bool meets_bytes = false;  ///< activations are quantized to 8 bits
  int bits = 8;
  ScaleBlock block{};
  int per_word() const { return kPackedWordBits / bits; }
  std::uint32_t mask() const { return (1U << bits) - 1; }
};

void read_block(JsonFieldReader& weights, Scheme& scheme) {
  const std::int64_t group = weights.integer_or("group_size", 0, -1, std::int64_t{1} << 31);
  const std::string strategy = weights.text_or("strategy", group > 0 ? "group" : "tensor");
  const std::vector<double> sizes = weights.numbers("block_structure", 2, 1, 1 << 20);
  if (strategy == "tensor") {
    scheme.block = {ScaleBlock::kAll, ScaleBlock::kAll};
  } else if (strategy == "channel" || (strategy == "group" && group == -1)) {
    scheme.block = {1, ScaleBlock::kAll};
  } else if (strategy == "group" && group > 0) {
    scheme.block = {1, group};
  } else if (strategy == "block" && sizes.size() == 2) {
    scheme.block = {static_cast<std::int64_t>(sizes[0]), static_cast<std::int64_t>(sizes[1])};
  } else {
    weights.unmet(fmt::format("another sharing of scales (strategy {:.32}, group_size {})", strategy, group));
  }
}

Result<Scheme> read_weights(const Json& json, const std::string& where, const std::string& format) {
  JsonFieldReader weights(json, where);
  Scheme scheme;
  scheme.bits = static_cast<int>(weights.integer_or("num_bits", 8, 1, 16));
  const std::string type = weights.text_or("type", "int");
  scheme.is_float = type == "float";
  scheme.is_marlin = format == kMarlin24;
  scheme.is_packed = format == "pack-quantized" || scheme.is_marlin;
  scheme.is_symmetric = weights.boolean_or("symmetric", true);
  scheme.is_ordered = weights.text_or("actorder", "") == "group";
  read_block(weights, scheme);
  const bool has_codes = scheme.is_float ? scheme.bits == 8 && !scheme.is_packed && scheme.is_symmetric
                                         : scheme.bits == 8 || (scheme.bits == 4 && scheme.is_packed);
  if (!has_codes || (type != "int" && type != "float")) {
    weights.unmet(fmt::format("{} weights of {} bits in the format {:.32}", type, scheme.bits, format));
  }
  if (weights.boolean_or("dynamic", false)) weights.unmet("scales that are found while the model runs (dynamic)");
  if (scheme.is_marlin && !scheme.is_symmetric) weights.unmet("zero points in marlin-24 (symmetric)");
  if (scheme.is_marlin && scheme.is_ordered) weights.unmet("activation order in marlin-24 (actorder)");
  if (scheme.is_marlin && scheme.block.rows != 1) weights.unmet("scales that rows share in marlin-24 (strategy)");
  if (scheme.is_packed && scheme.block.rows > 1 && scheme.block.rows != ScaleBlock::kAll) {
    weights.unmet(fmt::format("packed codes with scales of blocks (strategy block, block_structure [{}, {}])",
                              scheme.block.rows, scheme.block.columns));
  }
  weights.note_unknown_keys(kMeaninglessOfWeights);
  LATHE_TRY_VOID(weights.finish());
  return scheme;
}

bool are_bytes(const Json& group) {
  const auto activations = group.find("input_activations");
  return activations != group.end() && activations->is_object() && activations->value("num_bits", Json(8)) == 8;
}

/// Reads one group of layers from `config_groups`.
Result<Scheme> read_group(const Json& json, const std::string& where, const std::string& format) {
  JsonFieldReader group(json, where);
  if (group.has("output_activations")) group.unmet("rounded outputs (output_activations)");
  const Json* weights = group.object("weights");
  if (weights == nullptr) group.fault("weights", "missing");
  group.text_or("format", "");
  group.object("output_activations");
  group.note_unknown_keys(kMeaninglessOfGroups);
  LATHE_TRY_VOID(group.finish());
  LATHE_TRY(Scheme scheme, read_weights(*weights, where + ".weights", group.text_or("format", format)));
  scheme.meets_bytes = !scheme.is_float && are_bytes(json);
  return scheme;
}

bool is_known_format(const std::string& format) {
  constexpr std::array<std::string_view, 5> kFormats = {"int-quantized", "float-quantized", "naive-quantized",
                                                        "pack-quantized", kMarlin24};
  return std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end();
}

/// Reads the one scheme that all groups must share: groups with different schemes would need matching by module names.
Result<Scheme> read_scheme(JsonFieldReader& config, const std::string& where) {
  const std::string format = config.text_or("format", "dense");
  const Json* groups = config.object("config_groups");
  if (!is_known_format(format)) config.unmet(fmt::format("the format \"{:.32}\" (format)", format));
  const Json* sparsity = config.object("sparsity_config");
  if (sparsity != nullptr && !sparsity->empty() && sparsity->value("format", Json()) != "dense") {
    config.unmet("weights that are left out (sparsity_config)");
  }
  const Json* transforms = config.object("transform_config");
  if (transforms != nullptr && transforms->value("config_groups", Json::object()) != Json::object()) {
    config.unmet("transforms of activations (transform_config)");
  }
  if (groups == nullptr || groups->empty()) config.fault("config_groups", "missing: what is quantized, and how");
  config.note_unknown_keys(kSchemeMeaningless);
  LATHE_TRY_VOID(config.finish());
  std::optional<Scheme> scheme;
  const Json& first = *groups->begin();
  for (const auto& [name, group] : groups->items()) {
    const std::string place = fmt::format("{}.config_groups.{:.64}", where, name);
    if (!group.is_object()) return fail(ErrorCode::model_refused, "must be an object", place);
    const bool is_same = group.value("weights", Json()) == first.value("weights", Json()) &&
                         group.value("format", Json()) == first.value("format", Json());
    if (!is_same) {
      return fail(ErrorCode::model_refused,
                  "asks for features that are not supported: groups of layers that are quantized differently", place);
    }
    if (!scheme) {
      LATHE_TRY(scheme, read_group(group, place, format));
    }
  }
  return *scheme;
}

/// Layout of the parts of a packed matrix in the files.
struct PackedMatrix {
  std::int64_t n, k, n_groups, rows_of_block;
  Scheme scheme;
  std::span<const std::byte> codes, zeros;
  NumberList scales;

  float zero_of(std::int64_t row, std::int64_t group) const {
    const int per_word = scheme.per_word();
    const std::uint32_t word = word_at(zeros, row / per_word * n_groups + group);
    return static_cast<float>(word >> row % per_word * scheme.bits & scheme.mask());
  }

  void read(CodedRows& rows) const {
    const int per_word = scheme.per_word();
    for (std::int64_t r = 0; r < rows.n; ++r) {
      const std::int64_t row = rows.first + r, first_word = row * groups_in(k, per_word);
      for (std::int64_t i = 0, at = first_word; i < k; ++at) {
        std::uint32_t word = word_at(codes, at);
        for (const std::int64_t end = std::min(i + per_word, k); i < end; ++i, word >>= scheme.bits) {
          rows.codes[static_cast<std::size_t>(r * k + i)] = static_cast<std::uint8_t>(word & scheme.mask());
        }
      }
      for (std::int64_t group = 0; group < n_groups; ++group) {
        const auto at = static_cast<std::size_t>(r * n_groups + group);
        rows.scales[at] = scales.at(row / rows_of_block * n_groups + group);
        if (!zeros.empty()) rows.zeros[at] = zero_of(row, group);
      }
    }
  }
};

/// Rows and columns before packing, from weight_shape. Errors: the packed tensor has another number of words.
Result<std::pair<std::int64_t, std::int64_t>> shape_of(const StoredTensor& packed, const std::string& module,
                                                       const Scheme& scheme, const TensorParts& parts) {
  LATHE_TRY(const StoredTensor* shape, parts.of_type(module + ".weight_shape", "I64"));
  LATHE_TRY_VOID(parts.check_shape(*shape, {2}));
  std::int64_t sizes[2];
  std::memcpy(sizes, shape->bytes.data(), sizeof sizes);
  const auto [n, k] = std::pair(sizes[0], sizes[1]);
  if (n < 1 || k < 1 || packed.shape != std::vector<std::int64_t>{n, groups_in(k, scheme.per_word())}) {
    return parts.refuse(
        packed, fmt::format("shape: got {}, expected the shape of {} numbers with {} per word", to_string(packed.shape),
                            to_string(std::vector<std::int64_t>{n, k}), scheme.per_word()));
  }
  return std::pair(n, k);
}

Result<void> join_packed(const Scheme& scheme, const std::string& module, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* codes, parts.of_type(module + ".weight_packed", "I32"));
  LATHE_TRY(const StoredTensor* scales, parts.floating(module + ".weight_scale"));
  LATHE_TRY(const auto shape, shape_of(*codes, module, scheme, parts));
  const auto [n, k] = shape;
  const std::int64_t rows = std::min(scheme.block.rows, n), group = std::min(scheme.block.columns, k);
  const std::int64_t n_groups = groups_in(k, group);
  LATHE_TRY_VOID(parts.check_grid(*scales, groups_in(n, rows), n_groups));
  const StoredTensor* zeros = nullptr;
  if (!scheme.is_symmetric) {
    LATHE_TRY(zeros, parts.of_type(module + ".weight_zero_point", "I32"));
    if (rows != 1) return parts.refuse(*zeros, "zero points that more than one row shares are not supported");
    LATHE_TRY_VOID(parts.check_shape(*zeros, {groups_in(n, scheme.per_word()), n_groups}));
  }
  CodedTensor coded{.form = fmt::format("compressed {} bits blocks of {} {}", scheme.bits, rows, group),
                    .kind = scheme.bits == 4     ? CodeEncoding::int4
                            : scheme.meets_bytes ? CodeEncoding::int8_dynamic
                                                 : CodeEncoding::int8,
                    .n_rows = n,
                    .k = k,
                    .n_groups = n_groups,
                    .group = group,
                    .has_zeros = zeros != nullptr};
  const StoredTensor* order = parts.find(module + ".weight_g_idx");
  if (scheme.is_ordered) {
    LATHE_TRY(order, parts.of_type(module + ".weight_g_idx", "I32"));
  }
  if (order != nullptr) {
    LATHE_TRY(coded.group_of, parts.read_order(*order, k, group));
  }
  const std::span<const std::byte> of_zeros = zeros != nullptr ? zeros->bytes : std::span<const std::byte>();
  const PackedMatrix matrix{n, k, n_groups, rows, scheme, codes->bytes, of_zeros, numbers_in(*scales)};
  coded.numbers = numbers_of(coded.kind);
  coded.read = [matrix](CodedRows& some) { matrix.read(some); };
  coded.formats = formats_that_keep(coded, {.are_halves = matrix.scales.are_halves(), .are_middle = zeros == nullptr});
  parts.join(module + ".weight", std::move(coded), {codes, scales, zeros, order, parts.find(module + ".weight_shape")});
  return {};
}

Result<void> join_marlin_24(const Scheme& scheme, const std::string& module, TensorParts& parts) {
  MarlinMatrix matrix{.bits = scheme.bits, .group = scheme.block.columns == ScaleBlock::kAll ? -1 : scheme.block.columns};
  LATHE_TRY(matrix.codes, parts.of_type(module + ".weight_packed", "I32"));
  LATHE_TRY(matrix.scales, parts.floating(module + ".scale_packed"));
  LATHE_TRY(matrix.places, parts.of_type(module + ".meta", "I16"));
  LATHE_TRY(CodedTensor coded, coded_of(matrix, parts));
  parts.join(module + ".weight", std::move(coded), {matrix.codes, matrix.scales, matrix.places});
  return {};
}

Result<void> join_bytes(const Scheme& scheme, const std::string& module, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* codes, parts.of_type(module + ".weight", scheme.is_float ? "F8_E4M3" : "I8"));
  LATHE_TRY(const StoredTensor* scales, parts.floating(module + ".weight_scale"));
  const StoredTensor* zeros = nullptr;
  if (!scheme.is_symmetric) {
    LATHE_TRY(zeros, parts.of_type(module + ".weight_zero_point", "I8"));
  }
  const CodeEncoding whole = scheme.meets_bytes ? CodeEncoding::int8_dynamic : CodeEncoding::int8;
  LATHE_TRY(CodedTensor coded, coded_of({.kind = scheme.is_float ? CodeEncoding::e4m3 : whole,
                                         .codes = codes,
                                         .scales = scales,
                                         .zeros = zeros,
                                         .block = scheme.block},
                                        parts));
  parts.join(module + ".weight", std::move(coded),
             {codes, scales, zeros, parts.find(module + ".input_scale"), parts.find(module + ".input_zero_point")});
  return {};
}

Result<void> join_compressed_tensors(JsonFieldReader& config, TensorParts& parts) {
  LATHE_TRY(const Scheme scheme, read_scheme(config, config.file()));
  const auto join_one = scheme.is_marlin ? join_marlin_24 : scheme.is_packed ? join_packed : join_bytes;
  for (const std::string& module : parts.modules_with(scheme.is_packed ? ".weight_packed" : ".weight_scale")) {
    LATHE_TRY_VOID(join_one(scheme, module, parts));
  }
  return {};
}

}  // namespace

extern constexpr QuantizationScheme kCompressedTensorsScheme{
    .method = "compressed-tensors", .file = "", .join = join_compressed_tensors};

}  // namespace lathe::engine
