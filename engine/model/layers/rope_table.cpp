// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/rope_table.h"

#include <cmath>
#include <numeric>

namespace lathe::engine {

namespace {

/// Fills rows [first, first + n_positions) with cosines and sines, times the attention factor and factor(position).
template <class Factor>
void fill(kernels::Backend& backend, const RopeWaves& waves, const kernels::TensorView& cos, const kernels::TensorView& sin,
          std::int64_t first, std::int64_t n_positions, const Factor& factor) {
  backend.parallel_for(n_positions, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t position = begin; position < end; ++position) {
      const double scale = waves.attention_factor * factor(position);
      for (std::size_t i = 0; i < waves.frequencies.size(); ++i) {
        const double angle = static_cast<double>(position) * waves.frequencies[i];
        cos.row<float>(first + position)[i] = static_cast<float>(std::cos(angle) * scale);
        sin.row<float>(first + position)[i] = static_cast<float>(std::sin(angle) * scale);
      }
    }
  });
}

std::int64_t n_rows_of(std::span<const std::int64_t> contexts) {
  return std::accumulate(contexts.begin(), contexts.end(), std::int64_t{0});
}

}  // namespace

Result<RopeTable> RopeTable::create(kernels::Backend& backend, const RopeConfig& rope,
                                    std::span<const std::int64_t> contexts) {
  const std::int64_t n_rows = n_rows_of(contexts), n_pairs = rope.rotary_dim / 2;
  const bool grows = rope.query_growth != 0;
  RopeTable table;
  table.style_ = rope.style;
  LATHE_TRY(table.cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_pairs}));
  LATHE_TRY(table.sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_pairs}));
  if (grows) {
    LATHE_TRY(table.query_cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_pairs}));
    LATHE_TRY(table.query_sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_pairs}));
  }
  std::int64_t first = 0;
  for (const std::int64_t n_positions : contexts) {
    const RopeWaves waves = rope_waves(rope, n_positions);
    fill(backend, waves, table.cos(), table.sin(), first, n_positions, [](std::int64_t) { return 1.0; });
    if (grows) {
      fill(backend, waves, table.query_cos_.view(), table.query_sin_.view(), first, n_positions,
           [&](std::int64_t position) { return query_factor(rope, position); });
    }
    first += n_positions;
  }
  return table;
}

std::int64_t RopeTable::n_bytes(const RopeConfig& rope, std::span<const std::int64_t> contexts) {
  const std::int64_t n_tables = rope.query_growth != 0 ? 4 : 2;
  return n_tables * n_rows_of(contexts) * (rope.rotary_dim / 2) * static_cast<std::int64_t>(sizeof(float));
}

kernels::RopeForm RopeTable::queries() const {
  if (query_cos_.n_bytes() == 0) return keys();
  return {.cos = query_cos_.view(), .sin = query_sin_.view(), .style = style_};
}

Result<RopeTables> RopeTables::create(kernels::Backend& backend, const ModelConfig& config, std::int64_t n_positions) {
  RopeTables tables;
  tables.contexts_ = rope_contexts(config.ropes, n_positions);
  for (const RopeConfig& rope : config.ropes) {
    LATHE_TRY(RopeTable table, RopeTable::create(backend, rope, tables.contexts_));
    tables.tables_.push_back(std::move(table));
  }
  return tables;
}

std::int64_t RopeTables::n_bytes(const ModelConfig& config, std::int64_t n_positions) {
  const std::vector<std::int64_t> contexts = rope_contexts(config.ropes, n_positions);
  std::int64_t sum = 0;
  for (const RopeConfig& rope : config.ropes) sum += RopeTable::n_bytes(rope, contexts);
  return sum;
}

std::int64_t RopeTables::n_bytes() const {
  std::int64_t sum = 0;
  for (const RopeTable& table : tables_) sum += table.n_bytes();
  return sum;
}

}  // namespace lathe::engine
