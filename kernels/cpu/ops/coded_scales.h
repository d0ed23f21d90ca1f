// SPDX-License-Identifier: Apache-2.0
// Access to the scales of coded weights in the layouts of coded_layout.h.
#pragma once

#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/coded_layout.h"
#include "kernels/cpu/table/element_types.h"
#include "kernels/formats/bnb4/dynamic_map.h"

namespace lathe::kernels {
namespace {

template <class ScaleType, ScaleLayout kWhich>
struct StoredScales {
  using Scale = ScaleType;
  static constexpr ScaleLayout kLayout = kWhich;
  static constexpr bool kExpands = false;
  static constexpr bool kIsPaired = kWhich == ScaleLayout::paired || kWhich == ScaleLayout::minned;
  static constexpr std::int64_t kStep = kWhich == ScaleLayout::channel ? 0 : kIsPaired ? 2 * kPanelColumns : kPanelColumns;
  static const Scale* at(const std::byte* scales, std::int64_t group) {
    return reinterpret_cast<const Scale*>(scales) + group * kStep;
  }
};
using HalfScales = StoredScales<F16, ScaleLayout::half>;
using PairedScales = StoredScales<PairedF16, ScaleLayout::paired>;
using MinnedScales = StoredScales<MinnedF32, ScaleLayout::minned>;
using SingleScales = StoredScales<float, ScaleLayout::single>;
using ChannelScales = StoredScales<float, ScaleLayout::channel>;

/// Nested scales, which are expanded to floats for a stretch of k before its tiles read them.
struct NestedScaleCodes {
  using Scale = float;
  static constexpr ScaleLayout kLayout = ScaleLayout::nested;
  static constexpr bool kExpands = true;
  static constexpr std::int64_t kStep = kPanelColumns;
  static const Scale* at(const std::byte*, std::int64_t) { return nullptr; }

  /// Expands the scales of n_groups groups. Consecutive groups that stay in one block of nested scales for every column
  /// share the outer scales.
  template <class V>
  static void expand(const std::byte* scales, const CodedPanel& shape, std::int64_t first_group, std::int64_t n_groups,
                     float* out) {
    const NestedOffsets offsets = nested_offsets(shape);
    const float* const map = dynamic_map();
    const auto* const means = reinterpret_cast<const float*>(scales + offsets.means);
    const auto* const places = reinterpret_cast<const std::int32_t*>(scales + offsets.places);
    const auto* const blocks = reinterpret_cast<const float*>(scales + offsets.blocks);
    for (std::int64_t begin = 0; begin < n_groups;) {
      std::int64_t end = n_groups;
      float outer[kPanelColumns];
      for (int c = 0; c < kPanelColumns; ++c) {
        const std::int64_t place = places[c] + first_group + begin;
        outer[c] = blocks[place / kNestedScales * kPanelColumns + c];
        end = min_of(end, begin + kNestedScales - place % kNestedScales);
      }
      for (; begin < end; ++begin) {
        const std::byte* const codes = scales + (first_group + begin) * kPanelColumns;
        for (int c = 0; c < kPanelColumns; c += V::kLanes) {
          V::store(out + begin * kPanelColumns + c,
                   V::fma(V::look_up(map, codes + c), V::load(outer + c), V::load(means + c)));
        }
      }
    }
  }
};

}  // namespace
}  // namespace lathe::kernels
