// SPDX-License-Identifier: Apache-2.0
// The products of all experts' gate and up with their rows: a warp has the same outputs of both, and writes act(gate) * up
// as the prepared input of down.
#include "kernels/cuda/ops/activations.cuh"
#include "kernels/cuda/ops/experts_product.cuh"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {
namespace {

/// Writes act(gate) * up. The first tile is that of gate.
struct StoreActivated {
  static constexpr int kMatrices = 2;
  PreparedX to;
  int n_outputs, n_tiles;
  const ExpertMatrix *gates, *ups;
  Activation activation;

  __device__ float number(float gate, float up, const float* gate_bias, const float* up_bias, int output) const {
    if (gate_bias != nullptr) gate = __fadd_rn(gate, gate_bias[output]);
    if (up_bias != nullptr) up = __fadd_rn(up, up_bias[output]);
    return activated(gate, activation) * gated(up, activation);
  }

  template <int kRowTiles>
  __device__ void store(const ExpertTotals<kRowTiles>& total, const ExpertItem& item, int lane) const {
    const float *const gate_bias = gates[item.expert].bias, *const up_bias = ups[item.expert].bias;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = r * kRowTile + lane % 4 * 2 + i % 2, output = item.group * kTile + lane / 4 + i / 2 * 8;
        if (row >= item.n_rows) continue;
        cuda::store(to, item.first_slot + row, output,
                    output < n_outputs ? number(total[0][r][i], total[1][r][i], gate_bias, up_bias, output) : 0);
      }
    }
    if (item.group == n_tiles - 1) fill_rest(item, lane);
  }

  /// Writes zeros after the last tile.
  __device__ void fill_rest(const ExpertItem& item, int lane) const {
    for (std::int64_t k = n_tiles * kTile + lane; k < to.padded_k; k += kWarp) {
      for (int row = 0; row < item.n_rows; ++row) cuda::store(to, item.first_slot + row, k, 0);
    }
  }
};

}  // namespace

void multiply_experts_gated(Stream stream, const PreparedX& to, const PlacedRows& rows, const ExpertMatrices& gate,
                            const ExpertMatrices& up, Activation activation, int n_processors) {
  LATHE_CHECK(are_gated_together(gate.form, up.form) && to.is_bf16 && to.padded_k == round_up(up.form.layout.n, kQuad));
  const StoreActivated end{.to = to,
                           .n_outputs = static_cast<int>(up.form.layout.n),
                           .n_tiles = static_cast<int>(up.form.layout.n_tiles()),
                           .gates = gate.of_expert,
                           .ups = up.of_expert,
                           .activation = activation};
  launch_experts(stream, rows, rows.x, gate, up, end, n_processors);
}

}  // namespace lathe::kernels::cuda
