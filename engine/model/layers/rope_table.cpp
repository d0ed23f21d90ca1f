// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::engine {

namespace {

/// Fills rows [first, first + n_positions) with cosines and sines, times the attention factor and factor(position). Pairs
/// behind those of the frequencies are not rotated: they are multiplied by factor(position) alone.
template <class Factor>
void fill(kernels::Backend& backend, const RopeWaves& waves, const kernels::TensorView& cos, const kernels::TensorView& sin,
          std::int64_t first, std::int64_t n_positions, const Factor& factor) {
  const auto n_pairs = static_cast<std::size_t>(cos.dim(1));
  backend.parallel_for(n_positions, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t position = begin; position < end; ++position) {
      float* const cos_row = cos.row<float>(first + position);
      float* const sin_row = sin.row<float>(first + position);
      const double growth = factor(position), scale = waves.attention_factor * growth;
      for (std::size_t i = 0; i < waves.frequencies.size(); ++i) {
        const double angle = static_cast<double>(position) * waves.frequencies[i];
        cos_row[i] = static_cast<float>(std::cos(angle) * scale);
        sin_row[i] = static_cast<float>(std::sin(angle) * scale);
      }
      std::fill(cos_row + waves.frequencies.size(), cos_row + n_pairs, static_cast<float>(growth));
      std::fill(sin_row + waves.frequencies.size(), sin_row + n_pairs, 0.0F);
    }
  });
}

std::int64_t n_rows_of(std::span<const std::int64_t> contexts) {
  return std::accumulate(contexts.begin(), contexts.end(), std::int64_t{0});
}

/// Pairs of a row of the table that only Q has; 0: Q uses the table of K.
std::int64_t query_pairs(const RopeConfig& rope) {
  return rope.query_growth != 0 ? (rope.rotary_dim + rope.grown_dim) / 2 : 0;
}

}  // namespace

Result<RopeTable> RopeTable::create(kernels::Backend& backend, const RopeConfig& rope,
                                    std::span<const std::int64_t> contexts) {
  const std::int64_t n_rows = n_rows_of(contexts), n_pairs = rope.rotary_dim / 2;
  const std::int64_t n_query_pairs = query_pairs(rope);
  RopeTable table;
  table.style_ = rope.style;
  LATHE_TRY(table.cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_pairs}));
  LATHE_TRY(table.sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_pairs}));
  if (n_query_pairs > 0) {
    LATHE_TRY(table.query_cos_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_query_pairs}));
    LATHE_TRY(table.query_sin_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {n_rows, n_query_pairs}));
  }
  std::int64_t first = 0;
  for (const std::int64_t n_positions : contexts) {
    const RopeWaves waves = rope_waves(rope, n_positions);
    fill(backend, waves, table.cos(), table.sin(), first, n_positions, [](std::int64_t) { return 1.0; });
    if (n_query_pairs > 0) {
      fill(backend, waves, table.query_cos_.view(), table.query_sin_.view(), first, n_positions,
           [&](std::int64_t position) { return query_factor(rope, position); });
    }
    first += n_positions;
  }
  return table;
}

std::int64_t RopeTable::n_bytes(const RopeConfig& rope, std::span<const std::int64_t> contexts) {
  const std::int64_t n_pairs = rope.rotary_dim / 2 + query_pairs(rope);
  return 2 * n_rows_of(contexts) * n_pairs * static_cast<std::int64_t>(sizeof(float));
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
