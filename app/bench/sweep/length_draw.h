// SPDX-License-Identifier: Apache-2.0
// Lengths of prompts and answers, drawn around a mean.
#pragma once

#include <cstdint>
#include <random>

namespace lathe::app {

/// The longest that is drawn: what settings of lengths take at most.
inline constexpr std::int64_t kLongestDraw = 1 << 20;

/// Tokens from (1 - spread) to (1 + spread) times the mean, at least 1. Requires: a spread from 0 to 1.
std::int64_t uniform_length(std::int64_t mean, double spread, std::mt19937_64& random);

/// Tokens of a lognormal distribution with that mean and that coefficient of variation (sigma over mean), rounded, from 1 to
/// kLongestDraw. The same for the same `random` on every machine. Requires: a mean of 1 or more, a variation of 0 or more.
std::int64_t lognormal_length(std::int64_t mean, double variation, std::mt19937_64& random);

}  // namespace lathe::app
