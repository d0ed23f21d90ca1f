// SPDX-License-Identifier: Apache-2.0
// Roofline: how near each product of a model comes to what the machine allows at its arithmetic intensity.
// Source: Williams, Waterman and Patterson 2009.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/selftest.h"

namespace lathe::kernels {

/// A weight matrix of a model: n outputs, k inputs.
struct RooflineMatrix {
  std::string name;
  std::int64_t n = 0, k = 0;
};

struct RooflinePlan {
  std::vector<RooflineMatrix> matrices;
  std::vector<WeightFormat> formats;
  std::vector<std::int64_t> rows;  ///< of a step
};

/// One product, timed as a step meets it: with few rows its weights come from memory, not from a cache.
struct RooflinePoint {
  RooflineMatrix matrix;
  WeightFormat format = WeightFormat::f32;
  std::int64_t n_rows = 0;
  double weight_bytes = 0;
  double operations = 0;  ///< two a multiply-add
  double seconds = 0;
  double roof_gflop_s = 0;  ///< the lower of peak and intensity times reads
  std::string_view bound;   ///< "read", or the instruction whose peak it is: "fma", "bf16", "int8", "int4"

  /// Units: operations a byte of weights.
  double intensity() const { return operations / weight_bytes; }
  double gflop_s() const { return operations / seconds * 1e-9; }
  double gb_s() const { return weight_bytes / seconds * 1e-9; }
  double share() const { return gflop_s() / roof_gflop_s; }
};

/// `report` hears of each point as it comes; false ends it. Points come format by format. A matrix that finds no memory is
/// left out.
std::vector<RooflinePoint> measure_roofline(Backend& backend, const Ceilings& ceilings, const RooflinePlan& plan,
                                            const std::function<bool(const RooflinePoint&)>& report);

std::string_view name_of(WeightFormat format);
std::optional<WeightFormat> weight_format_named(std::string_view name);
/// All names, in the order of the table.
std::vector<std::string_view> weight_format_names();

}  // namespace lathe::kernels
