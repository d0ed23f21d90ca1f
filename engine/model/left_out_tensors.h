// SPDX-License-Identifier: Apache-2.0
// Left-out tensors: tensors of the files that the model does not read: towers for images and sound, layers that predict
// further tokens, biases that the config denies.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Names of the tensors that the model reads, or that are known to be of no use.
using TensorNames = std::set<std::string, std::less<>>;

/// A warning that lists all tensors but those of `needed`, whole towers and layers as one: "model.visual (351 tensors, 812.3
/// MiB)". Empty if there are none. `family` is the model that does not need them.
std::string left_out_tensors(const Checkpoint& checkpoint, const TensorNames& needed, std::string_view family);

}  // namespace lathe::engine
