// SPDX-License-Identifier: Apache-2.0
// Roofline: how near each product of a model comes to the rate that the machine allows at its arithmetic intensity.
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
  std::vector<std::int64_t> rows;  ///< row counts of the steps that are measured
};

/// Measured rate of an operation, and the roof above it.
struct RooflineFigures {
  double bytes = 0;       ///< bytes read from memory: weights, or the KV cache
  double operations = 0;  ///< each multiply-add counts two
  double seconds = 0;
  double roof_gflop_s = 0;  ///< the lower of the peak and intensity() times the read rate
  std::string_view bound;   ///< "read", or the instruction whose peak is the roof: "fma", "bf16", "int8", "int4"

  /// Units: operations per byte.
  double intensity() const { return operations / bytes; }
  double gflop_s() const { return operations / seconds * 1e-9; }
  double gb_s() const { return bytes / seconds * 1e-9; }
  double share() const { return gflop_s() / roof_gflop_s; }
};

/// One product, timed as in a step: with few rows its weights come from memory, not from a cache.
struct RooflinePoint {
  RooflineMatrix matrix;
  WeightFormat format = WeightFormat::f32;
  std::int64_t n_rows = 0;
  RooflineFigures figures;
};

/// Measures all points, format by format. Calls `report` after each point; if it returns false the measurement ends. A
/// matrix for which there is no memory is left out, and so is a point whose operations could not be done. Errors: throws
/// std::bad_alloc if the backend has no memory for activations.
std::vector<RooflinePoint> measure_roofline(Backend& backend, const Ceilings& ceilings, const RooflinePlan& plan,
                                            const std::function<bool(const RooflinePoint&)>& report);

/// A step over sequences of equal length that computes the last rows of each: one row when decoding, all rows of a prompt.
struct AttentionStep {
  int n_seqs = 1;
  int n_rows = 1;   ///< rows of each sequence
  int context = 0;  ///< tokens of each sequence, the rows included
};

/// Plan of a measurement: attention in one layer, for each type of the cache and each step.
struct AttentionMeasurement {
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  std::vector<Dtype> kv_types;
  std::vector<AttentionStep> steps;
};

/// Attention of one step, timed as in a layer: with few rows the cache comes from memory.
struct AttentionPoint {
  Dtype kv_type = Dtype::f32;
  AttentionStep step;
  RooflineFigures figures;
};

/// Measures all points as measure_roofline() does, type by type. A cache for which there is no memory is left out.
std::vector<AttentionPoint> measure_attention(Backend& backend, const Ceilings& ceilings, const AttentionMeasurement& plan,
                                              const std::function<bool(const AttentionPoint&)>& report);

/// All types that the KV cache supports.
std::vector<Dtype> kv_types();

std::string_view name_of(WeightFormat format);
std::optional<WeightFormat> weight_format_named(std::string_view name);
/// Names of all weight formats, in the order of the table.
std::vector<std::string_view> weight_format_names();

}  // namespace lathe::kernels
