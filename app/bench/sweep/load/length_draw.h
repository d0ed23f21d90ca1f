// SPDX-License-Identifier: Apache-2.0
// Draws the lengths of prompts and answers around a mean.
#pragma once

#include <cstdint>
#include <random>

namespace lathe::app {

/// Largest length that is drawn, and upper limit of the settings of lengths.
inline constexpr std::int64_t kLongestDraw = 1 << 20;

/// Draws evenly from (1 - spread) to (1 + spread) times the mean, at least 1. Units: tokens. Requires: a spread from 0 to 1.
std::int64_t uniform_length(std::int64_t mean, double spread, std::mt19937_64& random);

/// Draws from a lognormal distribution with this mean and coefficient of variation (sigma over mean), rounded, from 1 to
/// kLongestDraw. Units: tokens. The same state of `random` gives the same length on every machine. Requires: a mean of 1 or
/// more, a variation of 0 or more.
std::int64_t lognormal_length(std::int64_t mean, double variation, std::mt19937_64& random);

}  // namespace lathe::app
