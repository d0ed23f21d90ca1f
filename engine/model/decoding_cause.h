// SPDX-License-Identifier: Apache-2.0
// The reason why quantized weights of a checkpoint are decoded instead of kept as codes.
#pragma once

#include <string>

#include "engine/model/weight_plan.h"

namespace lathe::engine {

/// The text after "3 tensors: " in a warning: "their blocks run on over the ends of rows". Requires: a tensor of codes or of
/// blocks that `kept_format` does not keep, and no option that asks for another format. orders_agree: whether all matrices
/// of its part that read the same rows have the same input order.
std::string decoding_cause(const PlannedWeight& weight, const ModelConfig& config, bool orders_agree);

}  // namespace lathe::engine
