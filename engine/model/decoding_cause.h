// SPDX-License-Identifier: Apache-2.0
// Why quantized weights of a checkpoint do not stay codes.
#pragma once

#include <string>

#include "engine/model/weight_plan.h"

namespace lathe::engine {

/// What stands after "3 matrices: ": "their blocks run on over the ends of rows". Requires: a tensor of codes or of blocks
/// that `kept_format` does not keep, and no option that asks for another format. orders_agree: of the matrices of its
/// part that read the same rows.
std::string decoding_cause(const PlannedWeight& weight, const ModelConfig& config, bool orders_agree);

}  // namespace lathe::engine
