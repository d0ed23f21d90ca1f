// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tensor_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lathe::engine {

using kernels::TensorView;

namespace {

// Side of the square that is transposed at a time: source and destination of one square stay in the L1 cache.
constexpr std::int64_t kSquare = 32;

TensorView view_in(std::vector<std::byte>& memory, const TensorView& like, std::vector<std::int64_t> shape) {
  memory.resize(like.n_bytes());
  return shape.size() == 1 ? TensorView(memory.data(), like.dtype, {shape[0]})
                           : TensorView(memory.data(), like.dtype, {shape[0], shape[1]});
}

template <class T>
void transpose(kernels::Backend& backend, T* to, const T* from, std::int64_t n_rows, std::int64_t n_columns) {
  backend.parallel_for((n_rows + kSquare - 1) / kSquare, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r0 = begin * kSquare; r0 < std::min(end * kSquare, n_rows); r0 += kSquare) {
      for (std::int64_t c0 = 0; c0 < n_columns; c0 += kSquare) {
        for (std::int64_t r = r0; r < std::min(r0 + kSquare, n_rows); ++r) {
          for (std::int64_t c = c0; c < std::min(c0 + kSquare, n_columns); ++c) to[c * n_rows + r] = from[r * n_columns + c];
        }
      }
    }
  });
}

TensorView transposed(kernels::Backend& backend, const TensorView& source, std::vector<std::byte>& memory) {
  const std::int64_t n_rows = source.dim(0), n_columns = source.dim(1);
  const TensorView out = view_in(memory, source, {n_columns, n_rows});
  if (size_of(source.dtype) == 2) {
    transpose(backend, out.as<std::uint16_t>(), source.as<const std::uint16_t>(), n_rows, n_columns);
  } else {
    transpose(backend, out.as<std::uint32_t>(), source.as<const std::uint32_t>(), n_rows, n_columns);
  }
  return out;
}

/// Calls body(row in files, row in plain order, rows) for each run of rows that stay together.
template <class Body>
void for_runs_of_groups(const ModelConfig& config, const Body& body) {
  const std::int64_t queries = config.n_heads / config.n_kv_heads * config.head_dim, d = config.head_dim;
  for (std::int64_t head = 0; head < config.n_kv_heads; ++head) {
    const std::int64_t group = head * (queries + 2 * d);
    body(group, head * queries, queries);
    body(group + queries, config.q_size() + head * d, d);
    body(group + queries + d, config.q_size() + config.kv_size() + head * d, d);
  }
}

/// Moves rows by for_runs, one of the functions in this file that call body(row in files, row in plain order, rows).
template <class ForRuns>
TensorView with_rows_moved(const TensorView& source, std::vector<std::byte>& memory, bool to_files,
                           const ForRuns& for_runs) {
  std::vector<std::int64_t> shape{source.dim(0)};
  if (source.rank == 2) shape.push_back(source.dim(1));
  const TensorView out = view_in(memory, source, shape);
  const std::size_t row = source.n_bytes() / static_cast<std::size_t>(source.dim(0));
  for_runs([&](std::int64_t in_files, std::int64_t in_plain, std::int64_t n) {
    const auto to = static_cast<std::size_t>(to_files ? in_files : in_plain);
    const auto from = static_cast<std::size_t>(to_files ? in_plain : in_files);
    std::memcpy(out.as<std::byte>() + to * row, source.as<const std::byte>() + from * row,
                static_cast<std::size_t>(n) * row);
  });
  return out;
}

/// Calls body(row in files, row in plain order, 1) for each row: pair i of a head is its rows i and i + head_dim / 2.
template <class Body>
void for_rows_of_pairs(const ModelConfig& config, std::int64_t n_rows, const Body& body) {
  const std::int64_t half = config.head_dim / 2;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const std::int64_t head = row / config.head_dim * config.head_dim, i = row - head;
    body(row, head + i / 2 + i % 2 * half, 1);
  }
}

/// Calls body(row in files, row in plain order, 1) for rows of gate and up that alternate.
template <class Body>
void for_rows_in_turns(std::int64_t n_rows, const Body& body) {
  for (std::int64_t row = 0; row < n_rows; ++row) body(row, row % 2 * (n_rows / 2) + row / 2, 1);
}

/// Calls body(row in files, row in plain order, rows) for `first` rows and then each head of V: tiled heads are in the files
/// those of a key head one after the other, and the reverse.
template <class Body>
void for_value_heads(const DeltaNetConfig& net, std::int64_t first, std::int64_t rows_of_head, const Body& body) {
  const std::int64_t inner = net.is_tiled ? net.n_key_heads : net.n_heads / net.n_key_heads, outer = net.n_heads / inner;
  if (first > 0) body(0, 0, first);
  for (std::int64_t head = 0; head < net.n_heads; ++head) {
    const std::int64_t in_files = head % inner * outer + head / inner;
    body(first + in_files * rows_of_head, first + head * rows_of_head, rows_of_head);
  }
}

TensorView with_value_heads_moved(const DeltaNetConfig& net, std::int64_t first, const TensorView& source,
                                  std::vector<std::byte>& memory, bool to_files) {
  const std::int64_t rows_of_head = (source.dim(0) - first) / net.n_heads;
  return with_rows_moved(source, memory, to_files,
                         [&](const auto& body) { for_value_heads(net, first, rows_of_head, body); });
}

/// Requires: the bytes of a row divide into heads.
TensorView with_value_columns_moved(kernels::Backend& backend, const DeltaNetConfig& net, const TensorView& source,
                                    std::vector<std::byte>& memory, bool to_files) {
  const TensorView out = view_in(memory, source, {source.dim(0), source.dim(1)});
  const std::int64_t row = static_cast<std::int64_t>(source.n_bytes()) / source.dim(0);
  backend.parallel_for(source.dim(0), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for_value_heads(net, 0, row / net.n_heads, [&](std::int64_t in_files, std::int64_t in_plain, std::int64_t n) {
        const std::int64_t to = to_files ? in_files : in_plain, from = to_files ? in_plain : in_files;
        std::memcpy(out.as<std::byte>() + r * row + to, source.as<const std::byte>() + r * row + from,
                    static_cast<std::size_t>(n));
      });
    }
  });
  return out;
}

/// Requires: f32. Exact for values from 0.5 to 2: adding `one` back later gives the same value.
TensorView with_one_added(const TensorView& source, std::vector<std::byte>& memory, float one) {
  const TensorView out = view_in(memory, source, {source.dim(0)});
  for (std::int64_t i = 0; i < source.dim(0); ++i) out.as<float>()[i] = source.as<const float>()[i] + one;
  return out;
}

/// Requires: f32. A rate of 0 is that of the logarithm -infinity.
TensorView with_rates(const TensorView& source, std::vector<std::byte>& memory, bool to_rates) {
  const TensorView out = view_in(memory, source, {source.dim(0)});
  for (std::int64_t i = 0; i < source.dim(0); ++i) {
    const double x = source.as<const float>()[i];
    out.as<float>()[i] = static_cast<float>(to_rates ? -std::exp(x) : std::log(-x));
  }
  return out;
}

TensorView moved(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config, const TensorView& source,
                 std::vector<std::byte>& memory, bool to_files) {
  switch (layout) {
    case TensorLayout::plain: return source;
    case TensorLayout::transposed: return source.rank == 2 ? transposed(backend, source, memory) : source;
    case TensorLayout::row_pairs:
      return with_rows_moved(source, memory, to_files, [&](const auto& body) { for_rows_in_turns(source.dim(0), body); });
    case TensorLayout::transposed_pairs: {
      std::vector<std::byte> between;
      const TensorLayout first = to_files ? TensorLayout::row_pairs : TensorLayout::transposed;
      const TensorLayout second = to_files ? TensorLayout::transposed : TensorLayout::row_pairs;
      return moved(backend, second, config, moved(backend, first, config, source, between, to_files), memory, to_files);
    }
    case TensorLayout::kv_groups:
      return with_rows_moved(source, memory, to_files, [&](const auto& body) { for_runs_of_groups(config, body); });
    case TensorLayout::rotary_pairs:
      return with_rows_moved(source, memory, to_files,
                             [&](const auto& body) { for_rows_of_pairs(config, source.dim(0), body); });
    case TensorLayout::one_row:
      return to_files ? TensorView(source.data, source.dtype, {1, source.dim(0)})
                      : TensorView(source.data, source.dtype, {source.dim(1)});
    case TensorLayout::plus_one: return with_one_added(source, memory, to_files ? 1.0F : -1.0F);
    case TensorLayout::minus_exp: return with_rates(source, memory, to_files);
    case TensorLayout::value_heads: return with_value_heads_moved(config.delta_net, 0, source, memory, to_files);
    case TensorLayout::value_heads_last:
      return with_value_heads_moved(config.delta_net, 2 * config.delta_net.k_size(), source, memory, to_files);
    case TensorLayout::value_head_columns:
      return with_value_columns_moved(backend, config.delta_net, source, memory, to_files);
    case TensorLayout::value_head_rates: {
      std::vector<std::byte> between;
      const TensorLayout first = to_files ? TensorLayout::value_heads : TensorLayout::minus_exp;
      const TensorLayout second = to_files ? TensorLayout::minus_exp : TensorLayout::value_heads;
      return moved(backend, second, config, moved(backend, first, config, source, between, to_files), memory, to_files);
    }
  }
  return source;
}

}  // namespace

TensorLayout layout_of(StoredForm form, TensorLayout usual) {
  switch (form) {
    case StoredForm::usual: return usual;
    case StoredForm::rotary_pairs: return TensorLayout::rotary_pairs;
    case StoredForm::plus_one: return TensorLayout::plus_one;
    case StoredForm::minus_exp: return TensorLayout::minus_exp;
    case StoredForm::plain: return TensorLayout::plain;
    case StoredForm::outputs_first:
      if (usual == TensorLayout::transposed_pairs) return TensorLayout::row_pairs;
      return usual == TensorLayout::transposed ? TensorLayout::plain : usual;
  }
  return usual;
}

bool moves_rows_at_most(TensorLayout layout) {
  switch (layout) {
    case TensorLayout::transposed:
    case TensorLayout::transposed_pairs:
    case TensorLayout::plus_one:
    case TensorLayout::minus_exp:
    case TensorLayout::value_head_columns:
    case TensorLayout::value_head_rates: return false;
    default: return true;
  }
}

TensorLayout with_other_value_heads(WeightRole role, TensorLayout layout) {
  switch (role) {
    case WeightRole::delta_qkv:
    case WeightRole::delta_conv: return TensorLayout::value_heads_last;
    case WeightRole::delta_z:
    case WeightRole::delta_a:
    case WeightRole::delta_b:
    case WeightRole::delta_dt_bias: return TensorLayout::value_heads;
    case WeightRole::delta_a_log:
      return layout == TensorLayout::minus_exp ? TensorLayout::value_head_rates : TensorLayout::value_heads;
    case WeightRole::delta_out: return TensorLayout::value_head_columns;
    default: return layout;
  }
}

std::vector<std::int64_t> stored_shape(TensorLayout layout, std::vector<std::int64_t> shape) {
  const bool is_turned = layout == TensorLayout::transposed || layout == TensorLayout::transposed_pairs;
  if (is_turned) std::reverse(shape.begin(), shape.end());
  if (layout == TensorLayout::one_row) shape.insert(shape.begin(), 1);
  return shape;
}

TensorView to_plain(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config, const TensorView& source,
                    std::vector<std::byte>& memory) {
  return moved(backend, layout, config, source, memory, false);
}

TensorView to_stored(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config, const TensorView& plain,
                     std::vector<std::byte>& memory) {
  return moved(backend, layout, config, plain, memory, true);
}

}  // namespace lathe::engine
