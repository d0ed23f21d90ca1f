// SPDX-License-Identifier: Apache-2.0
// Reads FP8 checkpoints: weight F8_E4M3 [N, K] and weight_scale, one value per matrix or per row; or weight_scale_inv, one
// value per block of rows and columns, as in DeepSeek-V3. A weight is e4m3 * scale for both names.
// Scales of activations (input_scale) are ignored: activations are not quantized.
// Source: vLLM, quantization/fp8.py and fbgemm_fp8.py; DeepSeek-V3, inference/fp8_cast_bf16.py.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/load/matrices/byte_matrix.h"
#include "engine/load/quantization_scheme.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kScale = ".weight_scale", kBlockScale = ".weight_scale_inv";
constexpr std::array<std::string_view, 6> kFp8Meaningless = {"ignored_layers",      "modules_to_not_convert", "scale_fmt",
                                                             "activation_scale_ub", "kv_cache_scheme",        "dequantize"};

Result<void> join_all(const ScaleBlock& block, std::string_view ending, TensorParts& parts) {
  for (const std::string& module : parts.modules_with(ending)) {
    LATHE_TRY(const StoredTensor* codes, parts.of_type(module + ".weight", "F8_E4M3"));
    LATHE_TRY(const StoredTensor* scales, parts.floating(module + std::string(ending)));
    const StoredTensor* unused = parts.find(module + ".input_scale");
    ScaleBlock of_module = block;
    if (block.rows == ScaleBlock::kAll && numbers_in(*scales).n != 1) of_module.rows = 1;
    LATHE_TRY(CodedTensor coded,
              coded_of({.kind = CodeEncoding::e4m3, .codes = codes, .scales = scales, .block = of_module}, parts));
    parts.join(module + ".weight", std::move(coded), {codes, scales, unused});
  }
  return {};
}

/// Reads the block size. Nothing: scales are per matrix or per row.
std::optional<ScaleBlock> read_block(JsonFieldReader& config) {
  constexpr std::string_view kKey = "weight_block_size";
  const std::vector<double> sizes = config.numbers(kKey, 2, 1, 1 << 20);
  if (sizes.empty()) return std::nullopt;
  if (sizes.size() != 2)
    config.fault(kKey, fmt::format("got {} sizes, expected the number of rows and of columns", sizes.size()));
  return ScaleBlock{static_cast<std::int64_t>(sizes.front()), static_cast<std::int64_t>(sizes.back())};
}

Result<void> join_fp8(JsonFieldReader& config, TensorParts& parts) {
  const std::string activations = config.text_or("activation_scheme", "dynamic");
  if (activations != "dynamic" && activations != "static") {
    config.unmet(fmt::format("another scaling of activations (activation_scheme {:.32})", activations));
  }
  if (config.text_or("fmt", "e4m3") != "e4m3") config.unmet("other number formats than e4m3 (fmt)");
  const auto block = read_block(config);
  config.note_unknown_keys(kFp8Meaningless);
  LATHE_TRY_VOID(config.finish());
  if (block) return join_all(*block, kBlockScale, parts);
  return join_all({ScaleBlock::kAll, ScaleBlock::kAll}, kScale, parts);
}

}  // namespace

extern constexpr QuantizationScheme kFp8Scheme{.method = "fp8", .file = "", .join = join_fp8};
extern constexpr QuantizationScheme kFbgemmFp8Scheme{.method = "fbgemm_fp8", .file = "", .join = join_fp8};

}  // namespace lathe::engine
