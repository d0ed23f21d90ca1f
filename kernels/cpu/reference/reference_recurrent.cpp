// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reference/reference_recurrent.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lathe::kernels {
namespace {

std::int64_t reference_conv_floats(const StateShape& shape) {
  return shape.conv_kernel > 0 ? (shape.conv_kernel - 1) * shape.conv_channels : 0;
}
std::int64_t reference_slot_floats(const StateShape& shape) {
  return reference_conv_floats(shape) + shape.n_heads * shape.key_dim * shape.value_dim;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }

/// Calls body(first row, rows that advance the state, its slot) for each sequence, with zeros in the slots of those that
/// begin, and the state of its source in the slots of the others; once for the rows before each snapshot of the sequence,
/// and once for the rest. `floats`: the part of the slot that the operation reads.
template <class Body>
void for_sequences(const StateLayer& layer, const RecurrentBatch& batch, std::int64_t offset, std::int64_t floats,
                   const Body& body) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.n_seqs); ++i) {
    const std::int64_t begin = batch.query_start[i], n = batch.query_start[i + 1] - begin;
    const auto part_of_slot = [&](std::int64_t slot) {
      return static_cast<float*>(layer.data) + slot * reference_slot_floats(layer.shape) + offset;
    };
    float* const state = part_of_slot(batch.slots[i]);
    if (n == batch.n_padding[i]) continue;
    if (batch.context_len[i] == n) {
      std::fill_n(state, floats, 0.0F);
    } else if (!batch.sources.empty() && batch.sources[i] != batch.slots[i]) {
      std::copy_n(part_of_slot(batch.sources[i]), floats, state);
    }
    std::int64_t n_done = 0;
    for (const StateSnapshot& snapshot : batch.snapshots) {
      if (snapshot.sequence != static_cast<std::int32_t>(i)) continue;
      body(begin + n_done, snapshot.n_rows - n_done, state);
      n_done = snapshot.n_rows;
      std::copy_n(state, floats, part_of_slot(snapshot.slot));
    }
    body(begin + n_done, n - batch.n_padding[i] - n_done, state);
  }
}

/// x * scale / sqrt(sum of squares + 1e-6)
std::vector<double> normalised(const float* x, std::int64_t n, double scale) {
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * x[i];
  std::vector<double> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = x[i] * scale / std::sqrt(squares + 1e-6);
  return out;
}

/// One row of one head. S [key_dim][value_dim].
void delta_step(float* out, const StateShape& shape, float* state, const std::vector<double>& q,
                const std::vector<double>& k, const float* v, double beta, double decay) {
  for (std::int64_t j = 0; j < shape.value_dim; ++j) {
    double recalled = 0, o = 0;
    for (std::int64_t i = 0; i < shape.key_dim; ++i) {
      recalled += k[static_cast<std::size_t>(i)] * decay * state[i * shape.value_dim + j];
    }
    const double delta = beta * (v[j] - recalled);
    for (std::int64_t i = 0; i < shape.key_dim; ++i) {
      float& s = state[i * shape.value_dim + j];
      s = static_cast<float>(decay * s + k[static_cast<std::size_t>(i)] * delta);
      o += q[static_cast<std::size_t>(i)] * s;
    }
    out[j] = static_cast<float>(o);
  }
}

}  // namespace

std::size_t ReferenceRecurrent::state_bytes(const StateShape& shape) const {
  return static_cast<std::size_t>(reference_slot_floats(shape)) * sizeof(float);
}

void ReferenceRecurrent::causal_conv1d(const TensorView& x, const ConvForm& form, const StateLayer& layer,
                                       const RecurrentBatch& batch) {
  const std::int64_t n_before = layer.shape.conv_kernel - 1, n_channels = layer.shape.conv_channels;
  const auto* const bias = form.bias.as<const float>();
  for_sequences(layer, batch, 0, reference_conv_floats(layer.shape),
                [&](std::int64_t row, std::int64_t n_rows, float* state) {
                  for (std::int64_t c = 0; c < n_channels; ++c) {
                    std::vector<float> in;
                    for (std::int64_t j = 0; j < n_before; ++j) in.push_back(state[j * n_channels + c]);
                    for (std::int64_t t = 0; t < n_rows; ++t) in.push_back(x.row<float>(row + t)[c]);
                    for (std::int64_t t = 0; t < n_rows; ++t) {
                      double sum = bias != nullptr ? bias[c] : 0;
                      for (std::int64_t j = 0; j <= n_before; ++j) {
                        sum += static_cast<double>(form.weight.row<float>(j)[c]) * in[static_cast<std::size_t>(t + j)];
                      }
                      x.row<float>(row + t)[c] = static_cast<float>(form.applies_silu ? silu(sum) : sum);
                    }
                    for (std::int64_t j = 0; j < n_before; ++j)
                      state[j * n_channels + c] = in[static_cast<std::size_t>(n_rows + j)];
                  }
                });
}

void ReferenceRecurrent::gated_delta_rule(const TensorView& out, const TensorView& qkv, const TensorView& gates,
                                          const DeltaForm& form, const StateLayer& layer, const RecurrentBatch& batch) {
  const StateShape& shape = layer.shape;
  const std::int64_t n_heads = shape.n_heads, k_size = form.n_key_heads * shape.key_dim;
  const std::int64_t head_floats = shape.key_dim * shape.value_dim;
  for (std::int64_t m = 0; m < out.dim(0); ++m) std::fill_n(out.row<float>(m), out.dim(1), 0.0F);
  for_sequences(layer, batch, reference_conv_floats(shape), n_heads * head_floats,
                [&](std::int64_t row, std::int64_t n_rows, float* state) {
                  for (std::int64_t m = row; m < row + n_rows; ++m) {
                    const float* const in = qkv.row<float>(m);
                    const float* const of_row = gates.row<float>(m);
                    for (std::int64_t h = 0; h < n_heads; ++h) {
                      const std::int64_t n_shared = n_heads / form.n_key_heads;
                      const std::int64_t first = (form.is_tiled ? h % form.n_key_heads : h / n_shared) * shape.key_dim;
                      const double a = static_cast<double>(of_row[n_heads + h]) + form.dt_bias.as<float>()[h];
                      const double decay = std::exp(form.decay_rate.as<float>()[h] * std::log1p(std::exp(a)));
                      delta_step(out.row<float>(m) + h * shape.value_dim, shape, state + h * head_floats,
                                 normalised(in + first, shape.key_dim, 1 / std::sqrt(static_cast<double>(shape.key_dim))),
                                 normalised(in + k_size + first, shape.key_dim, 1), in + 2 * k_size + h * shape.value_dim,
                                 sigmoid(of_row[h]), decay);
                    }
                  }
                });
}

void ReferenceRecurrent::norm_heads_gated(const TensorView& x, std::int64_t n_heads, const Norm& norm,
                                          const TensorView& gate) {
  const std::int64_t n = x.dim(1) / n_heads;
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::int64_t h = 0; h < n_heads; ++h) {
      float* const head = x.row<float>(m) + h * n;
      double squares = 0;
      for (std::int64_t i = 0; i < n; ++i) squares += static_cast<double>(head[i]) * head[i];
      const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + norm.eps);
      for (std::int64_t i = 0; i < n; ++i) {
        head[i] = static_cast<float>(head[i] * factor * norm.weight.as<float>()[i] * silu(gate.row<float>(m)[h * n + i]));
      }
    }
  }
}

void ReferenceRecurrent::multiply_by_sigmoid(const TensorView& x, const TensorView& gate) {
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::int64_t i = 0; i < x.dim(1); ++i) {
      float& value = x.row<float>(m)[i];
      value = static_cast<float>(value * sigmoid(gate.row<float>(m)[i]));
    }
  }
}

void ReferenceRecurrent::multiply(const TensorView& x, const TensorView& y) {
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::int64_t i = 0; i < x.dim(1); ++i) x.row<float>(m)[i] *= y.row<float>(m)[i];
  }
}

}  // namespace lathe::kernels
