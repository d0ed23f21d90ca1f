// SPDX-License-Identifier: Apache-2.0
// WeightImage: the memory that weights lie in, part after part in an order that the model alone decides.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lathe::engine {

using WeightImage = std::vector<std::span<std::byte>>;

}  // namespace lathe::engine
