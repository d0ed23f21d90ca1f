// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/rope_table.h"

#include <cmath>

namespace lathe::engine {

Result<RopeTable> RopeTable::create(kernels::Backend& backend, const RopeConfig& rope, std::int64_t n_positions) {
  const RopeWaves waves = rope_waves(rope, n_positions);
  const auto n_pairs = static_cast<std::int64_t>(waves.frequencies.size());
  RopeTable table;
  table.style_ = rope.style;
  LATHE_TRY(table.cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
  LATHE_TRY(table.sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
  backend.parallel_for(n_positions, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t position = begin; position < end; ++position) {
      for (std::size_t i = 0; i < waves.frequencies.size(); ++i) {
        const double angle = static_cast<double>(position) * waves.frequencies[i];
        table.cos().row<float>(position)[i] = static_cast<float>(std::cos(angle) * waves.attention_factor);
        table.sin().row<float>(position)[i] = static_cast<float>(std::sin(angle) * waves.attention_factor);
      }
    }
  });
  return table;
}

std::int64_t RopeTable::n_bytes(const RopeConfig& rope, std::int64_t n_positions) {
  return 2 * n_positions * (rope.rotary_dim / 2) * static_cast<std::int64_t>(sizeof(float));
}

void RopeTable::turn(kernels::Backend& backend, const kernels::TensorView& x, int n_heads, int head_dim,
                     std::span<const std::int32_t> positions) const {
  const auto rotary_dim = static_cast<int>(2 * cos().dim(1));
  backend.rope(x, n_heads, head_dim, rotary_dim, positions, cos(), sin(), style_);
}

Result<RopeTables> RopeTables::create(kernels::Backend& backend, const ModelConfig& config, std::int64_t n_positions) {
  RopeTables tables;
  for (const RopeConfig& rope : config.ropes) {
    LATHE_TRY(RopeTable table, RopeTable::create(backend, rope, n_positions));
    tables.tables_.push_back(std::move(table));
  }
  return tables;
}

std::int64_t RopeTables::n_bytes(const ModelConfig& config, std::int64_t n_positions) {
  std::int64_t sum = 0;
  for (const RopeConfig& rope : config.ropes) sum += RopeTable::n_bytes(rope, n_positions);
  return sum;
}

std::int64_t RopeTables::n_bytes() const {
  std::int64_t sum = 0;
  for (const RopeTable& table : tables_) sum += table.n_bytes();
  return sum;
}

}  // namespace lathe::engine
