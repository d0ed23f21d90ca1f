// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoding_cause.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/api/coded_rows.h"

namespace lathe::engine {
namespace {

using kernels::WeightFormat;

/// The smallest group of the integer formats, apart from those for GGUF's blocks.
constexpr std::int64_t kLeastGroup = 32;

/// The cause for codes that no weight format can keep.
std::string cause_in(const CodedTensor& tensor) {
  const bool is_book = tensor.kind == CodeEncoding::nf4 || tensor.kind == CodeEncoding::fp4;
  const WeightFormat book = tensor.kind == CodeEncoding::fp4 ? WeightFormat::fp4 : WeightFormat::nf4;
  if (tensor.kind == CodeEncoding::codebook4) return "their codes represent other numbers than NF4 or FP4";
  if (!tensor.group_of.empty() && !has_even_groups(tensor))
    return "their groups, in activation order (desc_act), differ in size";
  if (is_book && kernels::coded_row_bytes(book, tensor.k) == 0) return "their blocks cross the ends of rows";
  const std::int64_t least = tensor.kind == CodeEncoding::e4m3 ? kernels::group_of(WeightFormat::fp8_g128, tensor.k)
                             : is_book                         ? kernels::group_of(book, tensor.k)
                                                               : kLeastGroup;
  if (tensor.n_groups > 1 && tensor.group % least != 0)
    return fmt::format("their groups of {} are not a multiple of {}", tensor.group, least);
  return "no weight format supports their scales or settings";
}

}  // namespace

std::string decoding_cause(const PlannedWeight& weight, const ModelConfig& config, bool orders_agree) {
  const StoredTensor& tensor = *weight.tensor;
  if (weight.role != WeightRole::head && !is_layer_matrix(weight.role)) return "they are not matrices of layers";
  if (is_latent_projection(weight, config)) return "latent attention needs numbers instead of codes";
  if (config.latent.exists() && has_input_order(tensor) && weight.role != WeightRole::head)
    return "models with latent attention do not support activation order (desc_act)";
  if (config.normalises_head && weight.role == WeightRole::head) return "the rows of the output head are normalised";
  if (has_input_order(tensor) && weight.role == WeightRole::head)
    return "the groups of the output head are in activation order (desc_act)";
  if (!orders_agree && weight.role != WeightRole::head)
    return "matrices with the same input have their groups in different orders (desc_act)";
  if (!formats_of(tensor).empty()) return "matrices that are multiplied together have no weight format in common";
  if (tensor.coded != nullptr) return cause_in(*tensor.coded);
  return fmt::format("no weight format has blocks of {}", tensor.type->name);
}

}  // namespace lathe::engine
