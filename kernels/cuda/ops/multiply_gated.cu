// SPDX-License-Identifier: Apache-2.0
// The products of an MLP with gate and up for few rows, in one launch: a warp has the same outputs of both, and writes
// act(gate) * up as the prepared input of down, with the bits of multiply_few() and prepare_activated().
#include <algorithm>

#include "kernels/cuda/ops/activations.cuh"
#include "kernels/cuda/ops/few_product.cuh"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {
namespace {

/// Writes act(gate) * up. The first half of a warp's tiles are those of gate.
struct StoreGated {
  static constexpr int kMatrices = 2;
  PreparedX to;
  int n_rows, n_outputs, n_tiles;
  const float *gate_bias, *up_bias;
  Activation activation;

  __device__ float number(float gate, float up, int output) const {
    if (gate_bias != nullptr) gate = __fadd_rn(gate, gate_bias[output]);
    if (up_bias != nullptr) up = __fadd_rn(up, up_bias[output]);
    return activated(gate, activation) * gated(up, activation);
  }

  template <class C>
  __device__ void store(const FewTotals<C>& total, int group, int lane) const {
    constexpr int kPairs = C::kTiles / 2;
#pragma unroll
    for (int t = 0; t < kPairs; ++t) {
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = r * kRowTile + lane % 4 * 2 + i % 2, output = (group * kPairs + t) * kTile + lane / 4 + i / 2 * 8;
          if (row >= n_rows || output >= to.padded_k) continue;
          const float gate = total[t][r][i], up = total[kPairs + t][r][i];
          cuda::store(to, row, output, output < n_outputs ? number(gate, up, output) : 0);
        }
      }
    }
    if ((group + 1) * kPairs >= n_tiles) fill_rest((group + 1) * kPairs * kTile + lane);
  }

  /// Writes zeros after the last tile.
  __device__ void fill_rest(int first) const {
    for (std::int64_t k = first; k < to.padded_k; k += kWarp) {
      for (int row = 0; row < n_rows; ++row) cuda::store(to, row, k, 0);
    }
  }
};

template <class F>
void launch(Stream stream, const PreparedX& to, const PreparedX& x, const GatedMatrices& in) {
  const FewProduct product = few_product(x, in.gate, in.up, 0, x.n_rows);
  const StoreGated end{.to = to,
                       .n_rows = static_cast<int>(x.n_rows),
                       .n_outputs = static_cast<int>(in.up.layout.n),
                       .n_tiles = product.n_tiles,
                       .gate_bias = in.gate_bias,
                       .up_bias = in.up_bias,
                       .activation = in.activation};
  launch_few<F, FewCut<1, 2, F::kHasCodes ? 16 : 8, 8, 8>>(stream, product, end);
}

}  // namespace

bool are_gated_together(const StoredMatrix& gate, const StoredMatrix& up) {
  const MatrixLayout &a = gate.layout, &b = up.layout;
  return !is_in_rows(a.storage) && a.n == b.n && a.k == b.k && a.storage == b.storage && a.scales == b.scales &&
         a.group == b.group && gate.off == up.off && gate.has_book == up.has_book &&
         std::equal(std::begin(gate.book), std::end(gate.book), std::begin(up.book));
}

void multiply_gated(Stream stream, const PreparedX& to, const PreparedX& x, const GatedMatrices& in) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(are_gated_together(in.gate, in.up) && x.n_rows <= kMaxGatedRows && x.is_bf16);
  LATHE_CHECK(x.padded_k == in.up.layout.padded_k() && to.n_rows == x.n_rows && to.padded_k >= in.up.layout.n);
  for_forms(in.up, [&](auto form) { launch<decltype(form)>(stream, to, x, in); });
}

}  // namespace lathe::kernels::cuda
