// SPDX-License-Identifier: Apache-2.0
// Reads bitsandbytes checkpoints. 8 bits: weight I8 [N, K] and SCB F32 [N]; a weight is code * SCB / 127. 4 bits: `weight`
// holds the codes of all weights in order, the first of two in the high half of a byte; absmax has one value per block of
// weights, and quant_map the value of each code. With double quantization absmax holds codes too: an absmax is
// nested_quant_map[code] * nested_absmax + an offset. The sizes are JSON in a tensor, quant_state.bitsandbytes__nf4 or
// __fp4. Source: bitsandbytes 0.50, functional.py (QuantState), nn/modules.py.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/base/checked_math.h"
#include "engine/load/matrices/byte_matrix.h"
#include "engine/load/quantization_scheme.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kMaxBlock = 1 << 20, kCodesOf8Bits = 256, kCodesOf4Bits = 16;
// Outlier threshold of LLM.int8() and of the weight format llm_int8.
constexpr double kThreshold = 6;
constexpr std::string_view kState = ".weight.quant_state.bitsandbytes__";

constexpr std::array<std::string_view, 10> kBitsandbytesMeaningless = {
    "load_in_4bit",           "load_in_8bit",
    "_load_in_4bit",          "_load_in_8bit",
    "llm_int8_skip_modules",  "bnb_4bit_compute_dtype",
    "bnb_4bit_quant_storage", "llm_int8_enable_fp32_cpu_offload",
    "bnb_4bit_quant_type",    "bnb_4bit_use_double_quant"};
constexpr std::array<std::string_view, 3> kMeaninglessOfState = {"quant_type", "dtype", "nested_dtype"};

/// The quant_state of a matrix. `block`: weights that share a scale; `nested_block`: scales that share a nested scale.
struct State {
  std::int64_t n = 0, k = 0, block = 0, nested_block = 0;
  float offset = 0;
  bool is_nested() const { return nested_block > 0; }
};

Result<State> read_state(const StoredTensor& tensor, const TensorParts& parts) {
  if (tensor.type->name != "U8") return parts.refuse(tensor, fmt::format("dtype: got {}, expected U8", tensor.type->name));
  const std::string_view text(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  const auto json = parse_json(text, tensor.name);
  if (!json || !json->is_object()) return parts.refuse(tensor, "is not a JSON object");
  JsonFieldReader reader(*json, fmt::format("{:.200}", tensor.name));
  State state;
  const std::vector<double> shape = reader.numbers("shape", 2, 1, 1 << 30);
  if (shape.size() != 2)
    reader.fault("shape", fmt::format("got {} sizes, expected the number of rows and of columns", shape.size()));
  state.block = reader.integer("blocksize", 1, kMaxBlock);
  state.nested_block = reader.integer_or("nested_blocksize", 0, 0, kMaxBlock);
  state.offset = static_cast<float>(reader.number_or("nested_offset", 0, -1e30, 1e30));
  reader.note_unknown_keys(kMeaninglessOfState);
  LATHE_TRY_VOID(reader.finish());
  state.n = static_cast<std::int64_t>(shape[0]);
  state.k = static_cast<std::int64_t>(shape[1]);
  return state;
}

/// Layout of the parts of a 4-bit matrix in the files.
struct Bnb4Matrix {
  State state;
  std::int64_t group, n_groups;
  std::span<const std::byte> codes, absmax_codes;
  NumberList absmax, map;  ///< with double quantization: nested_absmax and nested_quant_map

  void read(CodedRows& rows) const {
    for (std::size_t i = 0; i < rows.codes.size(); ++i) {
      const std::int64_t at = rows.first * state.k + static_cast<std::int64_t>(i);
      const auto both = std::to_integer<unsigned>(codes[static_cast<std::size_t>(at / 2)]);
      rows.codes[i] = static_cast<std::uint8_t>(at % 2 == 0 ? both >> 4 : both & 15U);
    }
    for (std::size_t i = 0; i < rows.scales.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i);
      rows.scales[i] = scale_of(((rows.first + at / n_groups) * state.k + at % n_groups * group) / state.block);
    }
  }

  float scale_of(std::int64_t block) const {
    if (!state.is_nested()) return absmax.at(block);
    const auto code = std::to_integer<std::int64_t>(absmax_codes[static_cast<std::size_t>(block)]);
    const float inner = map.at(code) * absmax.at(block / state.nested_block);
    return inner + state.offset;
  }
};

Result<const StoredTensor*> list_of(const TensorParts& parts, const std::string& name, std::string_view type,
                                    std::int64_t n) {
  LATHE_TRY(const StoredTensor* tensor, parts.of_type(name, type));
  LATHE_TRY_VOID(parts.check_grid(*tensor, n, 1));
  return tensor;
}

CodeEncoding kind_of(const std::vector<float>& map) {
  for (const CodeEncoding kind : {CodeEncoding::nf4, CodeEncoding::fp4}) {
    if (map == *numbers_of(kind)) return kind;
  }
  return CodeEncoding::codebook4;
}

Result<void> join_4bit(const std::string& module, const StoredTensor& state_tensor, TensorParts& parts) {
  const std::string name = module + ".weight";
  LATHE_TRY(const State state, read_state(state_tensor, parts));
  const StoredTensor* codes = parts.find(name);
  const auto n_weights = checked_product({state.n, state.k});
  if (codes == nullptr) return parts.refuse(state_tensor, "missing: the codes that it describes");
  if (!n_weights || std::ssize(codes->bytes) != groups_in(*n_weights, 2)) {
    return parts.refuse(
        *codes, fmt::format("got {} bytes, expected the codes of {} x {} weights", codes->bytes.size(), state.n, state.k));
  }
  const std::int64_t n_blocks = groups_in(*n_weights, state.block);
  LATHE_TRY(const StoredTensor* map, list_of(parts, name + ".quant_map", "F32", kCodesOf4Bits));
  LATHE_TRY(const StoredTensor* absmax, list_of(parts, name + ".absmax", state.is_nested() ? "U8" : "F32", n_blocks));
  const StoredTensor *outer = nullptr, *outer_map = nullptr;
  if (state.is_nested()) {
    LATHE_TRY(outer, list_of(parts, name + ".nested_absmax", "F32", groups_in(n_blocks, state.nested_block)));
    LATHE_TRY(outer_map, list_of(parts, name + ".nested_quant_map", "F32", kCodesOf8Bits));
  }
  // Blocks run across the ends of rows. A group of gcd(K, block) weights is inside one block and one row.
  const std::int64_t group = std::gcd(state.k, state.block);
  auto numbers = std::make_shared<std::vector<float>>();
  for (std::int64_t i = 0; i < kCodesOf4Bits; ++i) numbers->push_back(numbers_in(*map).at(i));
  CodedTensor coded{
      .form = fmt::format("bnb 4 bits blocks of {} {} offset {}", state.block, state.nested_block, state.offset),
      .kind = kind_of(*numbers),
      .n_rows = state.n,
      .k = state.k,
      .n_groups = state.k / group,
      .group = group,
      .block = state.block,
      .numbers = numbers};
  const Bnb4Matrix matrix{state,
                          group,
                          coded.n_groups,
                          codes->bytes,
                          absmax->bytes,
                          numbers_in(state.is_nested() ? *outer : *absmax),
                          numbers_in(state.is_nested() ? *outer_map : *map)};
  coded.read = [matrix](CodedRows& rows) { matrix.read(rows); };
  coded.formats = formats_that_keep(coded, {});
  parts.join(name, std::move(coded), {codes, absmax, map, outer, outer_map, &state_tensor});
  return {};
}

Result<void> join_8bit(const std::string& module, double threshold, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* codes, parts.of_type(module + ".weight", "I8"));
  LATHE_TRY(const StoredTensor* scales, parts.of_type(module + ".SCB", "F32"));
  const StoredTensor* order = parts.find(module + ".weight_format");
  if (order != nullptr && (order->bytes.size() != 1 || order->bytes[0] != std::byte{0})) {
    return parts.refuse(*order, "codes in another order than row by row are not supported");
  }
  LATHE_TRY(
      CodedTensor coded,
      coded_of({.kind = CodeEncoding::llm_int8, .codes = codes, .scales = scales, .block = {1, ScaleBlock::kAll}}, parts));
  if (threshold != kThreshold) coded.formats.clear();
  parts.join(module + ".weight", std::move(coded), {codes, scales, order});
  return {};
}

Result<void> join_bitsandbytes(JsonFieldReader& config, TensorParts& parts) {
  const double threshold = config.number_or("llm_int8_threshold", kThreshold, 0, 1e9);
  if (config.boolean_or("llm_int8_has_fp16_weight", false))
    config.unmet("16-bit weights in addition to the codes (llm_int8_has_fp16_weight)");
  config.note_unknown_keys(kBitsandbytesMeaningless);
  LATHE_TRY_VOID(config.finish());
  for (const std::string_view kind : {"nf4", "fp4"}) {
    const std::string ending = std::string(kState) + std::string(kind);
    for (const std::string& module : parts.modules_with(ending)) {
      LATHE_TRY_VOID(join_4bit(module, *parts.find(module + ending), parts));
    }
  }
  for (const std::string& module : parts.modules_with(".SCB")) LATHE_TRY_VOID(join_8bit(module, threshold, parts));
  return {};
}

}  // namespace

extern constexpr QuantizationScheme kBitsandbytesScheme{.method = "bitsandbytes", .file = "", .join = join_bitsandbytes};

}  // namespace lathe::engine
