// SPDX-License-Identifier: Apache-2.0
// The table of weight formats, in the order of WeightFormat.
#include <array>

#include "kernels/formats/format.h"

namespace lathe::kernels {
namespace {

constexpr FormatDescriptor kF32{.format = WeightFormat::f32, .name = "f32", .element = Dtype::f32};
constexpr FormatDescriptor kF16{.format = WeightFormat::f16, .name = "f16", .element = Dtype::f16};
constexpr FormatDescriptor kBf16{.format = WeightFormat::bf16, .name = "bf16", .element = Dtype::bf16};

constexpr std::array<const FormatDescriptor*, 3> kFormats{&kF32, &kF16, &kBf16};

}  // namespace

std::span<const FormatDescriptor* const> weight_formats() { return kFormats; }

const FormatDescriptor& descriptor_of(WeightFormat format) {
  const auto index = static_cast<std::size_t>(format);
  LATHE_CHECK(index < kFormats.size());
  return *kFormats[index];
}

}  // namespace lathe::kernels
