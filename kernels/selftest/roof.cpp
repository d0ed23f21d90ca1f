// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest/roof.h"

namespace lathe::kernels {

Peak peak_of(const Ceilings& ceilings, WeightFormat format) {
  if (ceilings.multiplies_codes_in_bf16 && descriptor_of(format).is_coded()) return {ceilings.bf16_gflop_s, "bf16"};
  switch (format) {
    case WeightFormat::bf16:
      if (ceilings.bf16_gflop_s > 0) return {ceilings.bf16_gflop_s, "bf16"};
      break;
    case WeightFormat::int4_g32:
    case WeightFormat::int4_g64:
    case WeightFormat::int4_g128:
    case WeightFormat::int4_g32_min:
    case WeightFormat::int4_g32_asym:
    case WeightFormat::int4_g64_asym:
    case WeightFormat::int4_g128_asym: return {ceilings.int4_gop_s, "int4"};
    default: {
      const FormatDescriptor& stored = descriptor_of(format);
      if (stored.is_coded() && stored.codes.multiplies_bytes()) return {ceilings.int8_gop_s, "int8"};
    }
  }
  return {ceilings.fma_gflop_s, "fma"};
}

Roof roof_of(const Ceilings& ceilings, WeightFormat format, double operations, double read_bytes) {
  const Peak peak = peak_of(ceilings, format);
  const double compute = peak.gflop_s > 0 ? operations / (peak.gflop_s * 1e9) : 0;
  const double read = ceilings.read_gb_s > 0 ? read_bytes / (ceilings.read_gb_s * 1e9) : 0;
  return read > compute ? Roof{read, "read"} : Roof{compute, peak.name};
}

void place_under_roof(RooflineFigures& figures, const Ceilings& ceilings, WeightFormat format) {
  const Roof roof = roof_of(ceilings, format, figures.operations, figures.bytes);
  figures.roof_gflop_s = roof.seconds > 0 ? figures.operations / roof.seconds * 1e-9 : 0;
  figures.bound = roof.bound;
}

}  // namespace lathe::kernels
