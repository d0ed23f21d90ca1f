// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/bnb4/dynamic_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lathe::kernels {
namespace {

using Map = std::array<float, 256>;

/// Seven decades, each with twice as many values as the decade below: the centers of equal parts of [0.1, 1], with both
/// signs.
Map make_map() {
  Map map{};
  std::size_t n = 0;
  constexpr double kDecades[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
  int n_parts = 1;
  for (const double decade : kDecades) {
    const float part = (1.0F - 0.1F) / static_cast<float>(n_parts);
    // Same bits as torch.linspace in f32 with fused multiply-adds: computed from both ends towards the middle.
    const auto border = [&](int i) {
      return i < (n_parts + 1) / 2 ? std::fma(part, static_cast<float>(i), 0.1F)
                                   : std::fma(-part, static_cast<float>(n_parts - i), 1.0F);
    };
    for (int i = 0; i < n_parts; ++i) {
      const float middle = (border(i) + border(i + 1)) / 2.0F;
      map[n++] = static_cast<float>(decade) * middle;
      map[n++] = -static_cast<float>(decade) * middle;
    }
    n_parts *= 2;
  }
  map[n++] = 0;
  map[n++] = 1;
  std::sort(map.begin(), map.end());
  return map;
}

}  // namespace

const float* dynamic_map() {
  static const Map map = make_map();
  return map.data();
}

}  // namespace lathe::kernels
