// SPDX-License-Identifier: Apache-2.0
// Reads gpt-oss checkpoints: experts in MXFP4. A matrix X [N, K] is X_blocks U8 [N, K / 32, 16], the even code of two in the
// low half of a byte, and X_scales U8 [N, K / 32], E8M0 exponents with bias 127. modules_to_not_convert needs no reading,
// since such modules have unquantized tensors. Source: Hugging Face transformers, integrations/mxfp4.py.
#include <fmt/format.h>

#include <array>

#include "engine/load/matrices/mx_matrix.h"
#include "engine/load/quantization_scheme.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
constexpr std::array<std::string_view, 2> kMxfp4Meaningless = {"modules_to_not_convert", "dequantize"};

Result<void> join_mxfp4_module(const std::string& module, TensorParts& parts) {
  LATHE_TRY(const StoredTensor* blocks, parts.of_type(module + std::string(kBlocks), "U8"));
  LATHE_TRY(const StoredTensor* scales, parts.of_type(module + std::string(kScales), "U8"));
  const std::vector<std::int64_t>& shape = blocks->shape;
  if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1 || shape[2] != kMxBlockBytes) {
    return parts.refuse(*blocks,
                        fmt::format("shape: got {}, expected [outputs, blocks, {}]", to_string(shape), kMxBlockBytes));
  }
  LATHE_TRY_VOID(parts.check_shape(*scales, {shape[0], shape[1]}));
  const MxMatrix matrix{.n = shape[0], .k = shape[1] * kMxBlock, .codes = blocks->bytes, .scales = scales->bytes};
  parts.join(module, coded_of(matrix), {blocks, scales});
  return {};
}

Result<void> join_mxfp4(JsonFieldReader& config, TensorParts& parts) {
  config.note_unknown_keys(kMxfp4Meaningless);
  LATHE_TRY_VOID(config.finish());
  for (const std::string& module : parts.modules_with(kBlocks)) LATHE_TRY_VOID(join_mxfp4_module(module, parts));
  return {};
}

}  // namespace

extern constexpr QuantizationScheme kMxfp4Scheme{.method = "mxfp4", .file = "", .join = join_mxfp4};

}  // namespace lathe::engine
