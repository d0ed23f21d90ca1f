// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/rope_table.h"

#include <cmath>
#include <numbers>

namespace lathe::engine {

namespace {

/// Long waves turn slower by `factor`, short ones stay, those between are blended by how many waves fit the old context.
double scale_llama3(double frequency, const RopeConfig& rope) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double waves = static_cast<double>(rope.original_max_position_embeddings) / wavelength;
  if (waves > rope.high_freq_factor) return frequency;
  if (waves < rope.low_freq_factor) return frequency / rope.factor;
  const double blend = (waves - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - blend) * frequency / rope.factor + blend * frequency;
}

double scaled(double frequency, const RopeConfig& rope) {
  switch (rope.scaling) {
    case RopeScaling::none: return frequency;
    case RopeScaling::linear: return frequency / rope.factor;
    case RopeScaling::llama3: return scale_llama3(frequency, rope);
  }
  return frequency;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    const double exponent = -static_cast<double>(i) / static_cast<double>(head_dim);
    frequencies.push_back(scaled(std::pow(rope.theta, exponent), rope));
  }
  return frequencies;
}

Result<RopeTable> RopeTable::create(kernels::Backend& backend, const ModelConfig& config, std::int64_t n_positions) {
  const std::vector<double> frequencies = rope_frequencies(config.rope, config.head_dim);
  const auto n_pairs = static_cast<std::int64_t>(frequencies.size());
  RopeTable table;
  LATHE_TRY(table.cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
  LATHE_TRY(table.sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
  backend.parallel_for(n_positions, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t position = begin; position < end; ++position) {
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double angle = static_cast<double>(position) * frequencies[i];
        table.cos().row<float>(position)[i] = static_cast<float>(std::cos(angle));
        table.sin().row<float>(position)[i] = static_cast<float>(std::sin(angle));
      }
    }
  });
  return table;
}

std::int64_t RopeTable::n_bytes(const ModelConfig& config, std::int64_t n_positions) {
  return 2 * n_positions * (config.head_dim / 2) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace lathe::engine
