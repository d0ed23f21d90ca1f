// SPDX-License-Identifier: Apache-2.0
// WeightImage: the buffers that hold a decoder's weights, in an order that only the model determines.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lathe::engine {

using WeightImage = std::vector<std::span<std::byte>>;

}  // namespace lathe::engine
