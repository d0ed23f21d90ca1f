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

kernels::RopeForm RopeTable::queries() const {
  if (query_cos_.n_bytes() == 0) return keys();
  return {.cos = query_cos_.view(), .sin = query_sin_.view(), .style = style_};
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
