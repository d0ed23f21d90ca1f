// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/rope_table.h"

#include <cmath>

namespace lathe::engine {

namespace {

/// Cosines and sines times what factor(position) gives.
template <class Factor>
void fill(kernels::Backend& backend, const RopeWaves& waves, const kernels::TensorView& cos, const kernels::TensorView& sin,
          const Factor& factor) {
  backend.parallel_for(cos.dim(0), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t position = begin; position < end; ++position) {
      const double scale = waves.attention_factor * factor(position);
      for (std::size_t i = 0; i < waves.frequencies.size(); ++i) {
        const double angle = static_cast<double>(position) * waves.frequencies[i];
        cos.row<float>(position)[i] = static_cast<float>(std::cos(angle) * scale);
        sin.row<float>(position)[i] = static_cast<float>(std::sin(angle) * scale);
      }
    }
  });
}

}  // namespace

Result<RopeTable> RopeTable::create(kernels::Backend& backend, const RopeConfig& rope, std::int64_t n_positions) {
  const RopeWaves waves = rope_waves(rope, n_positions);
  const auto n_pairs = static_cast<std::int64_t>(waves.frequencies.size());
  RopeTable table;
  table.style_ = rope.style;
  LATHE_TRY(table.cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
  LATHE_TRY(table.sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
  fill(backend, waves, table.cos(), table.sin(), [](std::int64_t) { return 1.0; });
  if (rope.query_growth != 0) {
    LATHE_TRY(table.query_cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
    LATHE_TRY(table.query_sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_positions, n_pairs}));
    fill(backend, waves, table.query_cos_.view(), table.query_sin_.view(),
         [&](std::int64_t position) { return query_factor(rope, position); });
  }
  return table;
}

std::int64_t RopeTable::n_bytes(const RopeConfig& rope, std::int64_t n_positions) {
  const std::int64_t n_tables = rope.query_growth != 0 ? 4 : 2;
  return n_tables * n_positions * (rope.rotary_dim / 2) * static_cast<std::int64_t>(sizeof(float));
}

void RopeTable::turn_keys(kernels::Backend& backend, const kernels::TensorView& x, int n_heads, int head_dim,
                          std::span<const std::int32_t> positions) const {
  const auto rotary_dim = static_cast<int>(2 * cos().dim(1));
  backend.rope(x, n_heads, head_dim, rotary_dim, positions, cos(), sin(), style_);
}

void RopeTable::turn_queries(kernels::Backend& backend, const kernels::TensorView& x, int n_heads, int head_dim,
                             std::span<const std::int32_t> positions) const {
  if (query_cos_.n_bytes() == 0) return turn_keys(backend, x, n_heads, head_dim, positions);
  const auto rotary_dim = static_cast<int>(2 * query_cos_.view().dim(1));
  backend.rope(x, n_heads, head_dim, rotary_dim, positions, query_cos_.view(), query_sin_.view(), style_);
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
