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

/// How fast something was, and how fast it could have been.
struct RooflineFigures {
  double bytes = 0;       ///< that come from memory: weights, or the KV cache
  double operations = 0;  ///< two a multiply-add
  double seconds = 0;
  double roof_gflop_s = 0;  ///< the lower of peak and intensity times reads
  std::string_view bound;   ///< "read", or the instruction whose peak it is: "fma", "bf16", "int8", "int4"

  /// Units: operations a byte.
  double intensity() const { return operations / bytes; }
  double gflop_s() const { return operations / seconds * 1e-9; }
  double gb_s() const { return bytes / seconds * 1e-9; }
  double share() const { return gflop_s() / roof_gflop_s; }
};

/// One product, timed as a step meets it: with few rows its weights come from memory, not from a cache.
struct RooflinePoint {
  RooflineMatrix matrix;
  WeightFormat format = WeightFormat::f32;
  std::int64_t n_rows = 0;
  RooflineFigures figures;
};

/// `report` hears of each point as it comes; false ends it. Points come format by format. A matrix that finds no memory is
/// left out.
std::vector<RooflinePoint> measure_roofline(Backend& backend, const Ceilings& ceilings, const RooflinePlan& plan,
                                            const std::function<bool(const RooflinePoint&)>& report);

/// The last rows of some contexts, all of one length: decoding has one row of each, a prompt all of them.
struct AttentionStep {
  int n_seqs = 1;
  int n_rows = 1;   ///< of each
  int context = 0;  ///< tokens of each, the rows included
};

/// Attention in one layer, for each type of the cache and each step.
struct AttentionMeasurement {
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  std::vector<Dtype> kv_types;
  std::vector<AttentionStep> steps;
};

/// Attention of one step, timed as a layer meets it: with few rows the cache comes from memory.
struct AttentionPoint {
  Dtype kv_type = Dtype::f32;
  AttentionStep step;
  RooflineFigures figures;
};

/// As measure_roofline(). Points come type by type. A cache that finds no memory is left out.
std::vector<AttentionPoint> measure_attention(Backend& backend, const Ceilings& ceilings, const AttentionMeasurement& plan,
                                              const std::function<bool(const AttentionPoint&)>& report);

/// All types that a cache may have.
std::vector<Dtype> kv_types();

std::string_view name_of(WeightFormat format);
std::optional<WeightFormat> weight_format_named(std::string_view name);
/// All names, in the order of the table.
std::vector<std::string_view> weight_format_names();

}  // namespace lathe::kernels
