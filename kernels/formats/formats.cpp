// SPDX-License-Identifier: Apache-2.0
// The table of weight formats, in the order of WeightFormat.
#include <array>

#include "kernels/formats/bnb4/bnb4.h"
#include "kernels/formats/e4m3/e4m3.h"
#include "kernels/formats/format.h"
#include "kernels/formats/grouped/grouped.h"
#include "kernels/formats/int8_channel/int8_channel.h"
#include "kernels/formats/iq4/iq4.h"
#include "kernels/formats/minned/minned.h"
#include "kernels/formats/mxfp4/mxfp4.h"

namespace lathe::kernels {
namespace {

FormatDescriptor coded(WeightFormat format, std::string_view name, const CodedFormat& codes) {
  return {.format = format, .name = name, .element = Dtype::f32, .codes = codes};
}

FormatDescriptor of_files(WeightFormat format, std::string_view name, const CodedFormat& codes) {
  return {.format = format, .name = name, .element = Dtype::f32, .codes = codes, .is_load_only = true};
}

const auto& table() {
  // THE TABLE: one line per weight format.
  static const std::array formats = {
      FormatDescriptor{.format = WeightFormat::f32, .name = "f32", .element = Dtype::f32},
      FormatDescriptor{.format = WeightFormat::f16, .name = "f16", .element = Dtype::f16},
      FormatDescriptor{.format = WeightFormat::bf16, .name = "bf16", .element = Dtype::bf16},
      coded(WeightFormat::int8_g32, "int8_g32", grouped_format(8, 32)),
      coded(WeightFormat::int8_g64, "int8_g64", grouped_format(8, 64)),
      coded(WeightFormat::int8_g128, "int8_g128", grouped_format(8, 128)),
      coded(WeightFormat::int4_g32, "int4_g32", grouped_format(4, 32)),
      coded(WeightFormat::int4_g64, "int4_g64", grouped_format(4, 64)),
      coded(WeightFormat::int4_g128, "int4_g128", grouped_format(4, 128)),
      coded(WeightFormat::nf4, "nf4", nf4_format(ScaleLayout::single)),
      coded(WeightFormat::nf4_nested, "nf4_nested", nf4_format(ScaleLayout::nested)),
      coded(WeightFormat::fp4, "fp4", fp4_format(ScaleLayout::single)),
      coded(WeightFormat::fp4_nested, "fp4_nested", fp4_format(ScaleLayout::nested)),
      coded(WeightFormat::int8_channel, "int8_channel", int8_channel_format()),
      coded(WeightFormat::llm_int8, "llm_int8", llm_int8_format()),
      coded(WeightFormat::fp8_channel, "fp8_channel", e4m3_format(ActivationScale::row)),
      coded(WeightFormat::fp8_weight_only, "fp8_weight_only", e4m3_format(ActivationScale::none)),
      coded(WeightFormat::int8_g32_asym, "int8_g32_asym", asymmetric_format(8, 32)),
      coded(WeightFormat::int8_g64_asym, "int8_g64_asym", asymmetric_format(8, 64)),
      coded(WeightFormat::int8_g128_asym, "int8_g128_asym", asymmetric_format(8, 128)),
      coded(WeightFormat::int4_g32_asym, "int4_g32_asym", asymmetric_format(4, 32)),
      coded(WeightFormat::int4_g64_asym, "int4_g64_asym", asymmetric_format(4, 64)),
      coded(WeightFormat::int4_g128_asym, "int4_g128_asym", asymmetric_format(4, 128)),
      coded(WeightFormat::nf4_weight_only, "nf4_weight_only", nf4_format(ScaleLayout::single, ActivationScale::none)),
      coded(WeightFormat::nf4_nested_weight_only, "nf4_nested_weight_only",
            nf4_format(ScaleLayout::nested, ActivationScale::none)),
      coded(WeightFormat::fp4_weight_only, "fp4_weight_only", fp4_format(ScaleLayout::single, ActivationScale::none)),
      coded(WeightFormat::fp4_nested_weight_only, "fp4_nested_weight_only",
            fp4_format(ScaleLayout::nested, ActivationScale::none)),
      coded(WeightFormat::mxfp4, "mxfp4", mxfp4_format(ActivationScale::block)),
      coded(WeightFormat::mxfp4_weight_only, "mxfp4_weight_only", mxfp4_format(ActivationScale::none)),
      of_files(WeightFormat::int8_g16, "int8_g16", single_format(8, 16)),
      of_files(WeightFormat::int4_g32_min, "int4_g32_min", minned_format(4, 32)),
      of_files(WeightFormat::int8_g32_min, "int8_g32_min", minned_format(8, 32)),
      of_files(WeightFormat::int4_g16_min, "int4_g16_min", minned_format(4, 16)),
      of_files(WeightFormat::int8_g16_min, "int8_g16_min", minned_format(8, 16)),
      of_files(WeightFormat::iq4, "iq4", iq4_format()),
      of_files(WeightFormat::fp8_g128, "fp8_g128", e4m3_group_format(128)),
  };
  static_assert(std::tuple_size_v<decltype(formats)> == kWeightFormats);
  return formats;
}

}  // namespace

std::span<const FormatDescriptor> weight_formats() { return table(); }

const FormatDescriptor& descriptor_of(WeightFormat format) {
  const auto index = static_cast<std::size_t>(format);
  LATHE_CHECK(index < table().size());
  return table()[index];
}

}  // namespace lathe::kernels
