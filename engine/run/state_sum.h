// SPDX-License-Identifier: Apache-2.0
// StateSum: pools the hidden states of one text, of which each step may give some rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/pooling.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// The mean of the states, or the first or the last of them, in double precision.
class StateSum {
 public:
  StateSum(Pooling pooling, std::int64_t n_dimensions) : pooling_(pooling), sums_(static_cast<std::size_t>(n_dimensions)) {}

  Pooling pooling() const { return pooling_; }
  void clear();
  /// Adds rows [first, first + n) of `states`, the states of tokens [begin, begin + n) of a text of n_tokens.
  /// Shapes: states [M, n_dimensions] f32.
  void add(const kernels::TensorView& states, std::int64_t first, std::int64_t n, std::int64_t begin, std::int64_t n_tokens);
  /// Writes the vector. Requires: the states of all tokens were added.
  void write(std::int64_t n_tokens, std::span<float> vector) const;

 private:
  Pooling pooling_;
  std::vector<double> sums_;
};

}  // namespace lathe::engine
