// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace lathe::engine {
namespace {

// Four lanes: every x86-64 processor has them, so sums have the same bits on every machine.
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

Floats load(const float* from) {
  Floats out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// exp(x) for x <= 0: 2^n * e^r with |r| <= ln(2)/2, where the Taylor series to r^7 is exact to 5e-9. 0 below -87.
Floats exp_below_zero(Floats x) {
  const Floats zero = {};
  const Ints in_range = x > -87.0f;
  const Floats clamped = in_range ? x : zero - 87.0f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const Floats n = (clamped * 1.44269504f + kRound) - kRound;
  const Floats r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln(2) in two parts, the first exact in n * part
  Floats sum = r * (1.0f / 5040) + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  const Ints exponent = (__builtin_convertvector(n, Ints) + 127) << 23;
  const Floats power = std::bit_cast<Floats>(exponent);
  return in_range ? sum * power : zero;
}

float lane_sum(Floats v) { return (v[0] + v[1]) + (v[2] + v[3]); }

float block_sum(const float* weights, std::size_t n) {
  Floats sums = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sums += load(weights + i);
  float sum = lane_sum(sums);
  for (; i < n; ++i) sum += weights[i];
  return sum;
}

/// Calls use(values, at, n) for each group of up to four elements; missing lanes hold -inf.
template <class Use>
void for_each_group(std::span<const float> logits, Use use) {
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) use(load(logits.data() + i), i, kLanes);
  if (i == logits.size()) return;
  Floats rest = {kLowest, kLowest, kLowest, kLowest};
  std::memcpy(&rest, logits.data() + i, (logits.size() - i) * sizeof(float));
  use(rest, i, logits.size() - i);
}

}  // namespace

BestLogit best_logit(std::span<const float> logits) {
  Floats best = {kLowest, kLowest, kLowest, kLowest};
  Ints sane = {-1, -1, -1, -1};
  for_each_group(logits, [&](Floats x, std::size_t, std::size_t) {
    sane &= x <= std::numeric_limits<float>::max();  // false for NaN and +inf
    best = x > best ? x : best;
  });
  BestLogit out;
  out.value = std::max({best[0], best[1], best[2], best[3]});
  out.usable = (sane[0] & sane[1] & sane[2] & sane[3]) != 0 && out.value > kLowest;
  if (out.usable) out.id = static_cast<std::int32_t>(std::find(logits.begin(), logits.end(), out.value) - logits.begin());
  return out;
}

double exponentiate(std::span<const float> logits, float best, std::span<float> out) {
  for_each_group(logits, [&](Floats x, std::size_t at, std::size_t n) {
    const Floats weights = exp_below_zero(x - best);
    std::memcpy(out.data() + at, &weights, n * sizeof(float));
  });
  return weight_sum(out);
}

double log_sum_exp(std::span<const float> logits, float best) {
  double sum = 0;
  float block[kWeightBlock];
  for (std::size_t at = 0; at < logits.size(); at += kWeightBlock) {
    const auto part = logits.subspan(at, std::min(kWeightBlock, logits.size() - at));
    sum += exponentiate(part, best, std::span(block, part.size()));
  }
  return static_cast<double>(best) + std::log(sum);
}

std::int32_t count_at_least(std::span<const float> logits, float bar) {
  const auto lanes = static_cast<std::int32_t>((logits.size() + kLanes - 1) / kLanes * kLanes);
  Ints below = {};
  for_each_group(logits, [&](Floats x, std::size_t, std::size_t) { below += x < bar; });
  const std::int32_t n_at_least = lanes + below[0] + below[1] + below[2] + below[3];
  // Missing lanes hold -inf, which is below every bar but -inf itself.
  return std::min(n_at_least, static_cast<std::int32_t>(logits.size()));
}

double weight_sum(std::span<const float> weights) {
  double sum = 0;
  for (std::size_t at = 0; at < weights.size(); at += kWeightBlock) {
    sum += block_sum(weights.data() + at, std::min(kWeightBlock, weights.size() - at));
  }
  return sum;
}

std::size_t index_at_mass(std::span<const float> weights, double target) {
  std::size_t at = 0;
  std::size_t last = 0;  // last element with weight, in case rounding inside a block pushes the target beyond it
  for (; at < weights.size(); at += kWeightBlock) {
    const std::size_t n = std::min(kWeightBlock, weights.size() - at);
    const double sum = block_sum(weights.data() + at, n);
    if (target >= sum) {
      target -= sum;
      continue;
    }
    for (std::size_t i = at; i < at + n; ++i) {
      if (weights[i] <= 0) continue;
      last = i;
      if (target < weights[i]) return i;
      target -= weights[i];
    }
    return last;
  }
  for (std::size_t i = weights.size(); i-- > 0;) {
    if (weights[i] > 0) return i;
  }
  return 0;
}

}  // namespace lathe::engine
