// SPDX-License-Identifier: Apache-2.0
// The table of weight formats, in the order of WeightFormat.
#include <array>

#include "kernels/formats/format.h"

namespace lathe::kernels {
namespace {

constexpr FormatDescriptor kF32{.format = WeightFormat::f32, .name = "f32", .element = Dtype::f32};
constexpr FormatDescriptor kF16{.format = WeightFormat::f16, .name = "f16", .element = Dtype::f16};
constexpr FormatDescriptor kBf16{.format = WeightFormat::bf16, .name = "bf16", .element = Dtype::bf16};


constexpr FormatDescriptor grouped(WeightFormat format, std::string_view name, GroupedCodes codes) {
  return {.format = format, .name = name, .element = Dtype::f32, .codes = codes};
}
constexpr FormatDescriptor kInt8G32 = grouped(WeightFormat::int8_g32, "int8_g32", {.bits = 8, .group = 32});
constexpr FormatDescriptor kInt8G64 = grouped(WeightFormat::int8_g64, "int8_g64", {.bits = 8, .group = 64});
constexpr FormatDescriptor kInt8G128 = grouped(WeightFormat::int8_g128, "int8_g128", {.bits = 8, .group = 128});
constexpr FormatDescriptor kInt4G32 = grouped(WeightFormat::int4_g32, "int4_g32", {.bits = 4, .group = 32});
constexpr FormatDescriptor kInt4G64 = grouped(WeightFormat::int4_g64, "int4_g64", {.bits = 4, .group = 64});
constexpr FormatDescriptor kInt4G128 = grouped(WeightFormat::int4_g128, "int4_g128", {.bits = 4, .group = 128});

constexpr std::array<const FormatDescriptor*, 9> kFormats{&kF32,      &kF16,     &kBf16,    &kInt8G32, &kInt8G64,
                                                          &kInt8G128, &kInt4G32, &kInt4G64, &kInt4G128};

}  // namespace

std::span<const FormatDescriptor* const> weight_formats() { return kFormats; }

const FormatDescriptor& descriptor_of(WeightFormat format) {
  const auto index = static_cast<std::size_t>(format);
  LATHE_CHECK(index < kFormats.size());
  return *kFormats[index];
}

}  // namespace lathe::kernels
