// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/model/rope_config.h"

namespace lathe::engine {
namespace {

/// Divides low frequencies by `factor`, keeps high ones, and blends those between by their number of wavelengths in the
/// original context.
double scale_llama3(double frequency, const RopeConfig& rope) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double waves = static_cast<double>(rope.original_max_position_embeddings) / wavelength;
  if (waves > rope.high_freq_factor) return frequency;
  // Llama 4 has equal bounds: no frequency lies between them.
  if (waves < rope.low_freq_factor || rope.high_freq_factor == rope.low_freq_factor) return frequency / rope.factor;
  const double blend = (waves - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - blend) * frequency / rope.factor + blend * frequency;
}

/// The index i, not rounded, at which the frequency theta^(-2i / rotary_dim) makes that many rotations in the original
/// context.
double frequency_index(const RopeConfig& rope, double rotations) {
  const auto old = static_cast<double>(rope.original_max_position_embeddings);
  const auto dim = static_cast<double>(rope.rotary_dim);
  return dim * std::log(old / (rotations * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
}

void scale_yarn(std::vector<double>& frequencies, const RopeConfig& rope) {
  double low = frequency_index(rope, rope.beta_fast), high = frequency_index(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.rotary_dim - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / rope.factor * ramp + frequencies[i] * (1 - ramp);
  }
}

double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

double yarn_attention_factor(const RopeConfig& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.mscale != 0 && rope.mscale_all_dim != 0) {
    return yarn_scale(rope.factor, rope.mscale) / yarn_scale(rope.factor, rope.mscale_all_dim);
  }
  return yarn_scale(rope.factor, 1);
}

double longrope_attention_factor(const RopeConfig& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.factor <= 1) return 1;
  return std::sqrt(1 + std::log(rope.factor) / std::log(static_cast<double>(rope.original_max_position_embeddings)));
}

/// The dimension d in theta^(-i / d).
double wave_dim(const RopeConfig& rope) { return static_cast<double>(rope.rotary_dim - (rope.is_odd ? 1 : 0)); }

double dynamic_theta(const RopeConfig& rope, std::int64_t n_positions) {
  const auto old = static_cast<double>(rope.original_max_position_embeddings);
  const double longest = std::max(static_cast<double>(n_positions), old);
  const double dim = wave_dim(rope);
  return rope.theta * std::pow(rope.factor * longest / old - (rope.factor - 1), dim / (dim - 2));
}

}  // namespace

RopeWaves rope_waves(const RopeConfig& rope, std::int64_t n_positions) {
  RopeWaves waves;
  const double theta = rope.scaling == RopeScaling::dynamic ? dynamic_theta(rope, n_positions) : rope.theta;
  for (std::int64_t i = 0; i < rope.rotary_dim; i += 2) {
    waves.frequencies.push_back(rope.is_still ? 0 : std::pow(theta, -static_cast<double>(i) / wave_dim(rope)));
  }
  switch (rope.scaling) {
    case RopeScaling::none:
    case RopeScaling::dynamic: break;
    case RopeScaling::linear:
      for (double& frequency : waves.frequencies) frequency /= rope.factor;
      break;
    case RopeScaling::llama3:
      for (double& frequency : waves.frequencies) frequency = scale_llama3(frequency, rope);
      break;
    case RopeScaling::yarn:
      scale_yarn(waves.frequencies, rope);
      waves.attention_factor = yarn_attention_factor(rope);
      break;
    case RopeScaling::proportional:
      for (double& frequency : waves.frequencies) frequency /= rope.factor;
      std::fill(waves.frequencies.begin() + rope.n_rotated_pairs, waves.frequencies.end(), 0.0);
      break;
    case RopeScaling::longrope: {
      const bool is_long = n_positions > rope.original_max_position_embeddings;
      const std::vector<double>& factors = is_long ? rope.long_factor : rope.short_factor;
      for (std::size_t i = 0; i < waves.frequencies.size(); ++i) waves.frequencies[i] /= factors[i];
      waves.attention_factor =
          (is_long ? rope.long_attention_factor : rope.short_attention_factor).value_or(longrope_attention_factor(rope));
      break;
    }
  }
  return waves;
}

std::vector<std::int64_t> rope_contexts(std::span<const RopeConfig> ropes, std::int64_t n_positions) {
  std::vector<std::int64_t> contexts = {n_positions};
  for (const RopeConfig& rope : ropes) {
    const std::int64_t old = rope.original_max_position_embeddings;
    if (rope.scaling == RopeScaling::longrope && old < n_positions) contexts.push_back(old);
    if (rope.scaling != RopeScaling::dynamic) continue;
    for (std::int64_t end = old; end < n_positions; end *= 2) contexts.push_back(end);
  }
  std::sort(contexts.begin(), contexts.end());
  contexts.erase(std::unique(contexts.begin(), contexts.end()), contexts.end());
  return contexts;
}

int rope_choice(std::span<const std::int64_t> contexts, std::int64_t n_tokens) {
  const auto first = std::lower_bound(contexts.begin(), contexts.end(), n_tokens);
  return static_cast<int>(
      std::min<std::ptrdiff_t>(first - contexts.begin(), std::max<std::ptrdiff_t>(1, std::ssize(contexts)) - 1));
}

double yarn_score_factor(const RopeConfig& rope) {
  if (rope.scaling != RopeScaling::yarn || rope.mscale_all_dim == 0) return 1;
  const double factor = yarn_scale(rope.factor, rope.mscale_all_dim);
  return factor * factor;
}

double query_factor(const RopeConfig& rope, std::int64_t position) {
  if (rope.query_growth == 0) return 1;
  return 1 + rope.query_growth *
                 std::log1p(static_cast<double>((position + rope.growth_offset) / rope.original_max_position_embeddings));
}

}  // namespace lathe::engine
