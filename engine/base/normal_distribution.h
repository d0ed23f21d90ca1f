// SPDX-License-Identifier: Apache-2.0
// The distribution function of the normal distribution with mean 0 and standard deviation 1, and its inverse.
#pragma once

namespace lathe::engine {

/// The probability of a number below `x`, which may be infinite.
double normal_probability(double x);
/// The number below which one is with probability p, by bisection. Requires: 0 < p < 1.
double normal_quantile(double p);

}  // namespace lathe::engine
