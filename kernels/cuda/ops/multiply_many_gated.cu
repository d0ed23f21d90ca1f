// SPDX-License-Identifier: Apache-2.0
// The products of an MLP with gate and up for many rows, in one launch: a warpgroup has 64 outputs of gate, and another one
// the same outputs of up. They exchange halves of their totals and write act(gate) * up as the prepared input of down, with
// the bits of multiply_many() and prepare_activated().
#include "kernels/cuda/ops/activations.cuh"
#include "kernels/cuda/ops/many_product.cuh"

namespace lathe::kernels::cuda {
namespace {

/// Writes act(gate) * up in the layout of x_block_place(). The 64 outputs of a block are the 64 k of one block of down's x.
struct StoreManyGated {
  static constexpr int kMatrices = 2;
  template <class S>
  static constexpr int kSharedBytes = S::kRowTiles * 4 * kWarp * int{sizeof(float4)};

  PreparedX to;
  int n_outputs;
  const float *gate_bias, *up_bias;
  Activation activation;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  template <class S>
  __device__ __forceinline__ void store(const float (&total)[S::kRows / 2], const TilePlace& place,
                                        std::uint32_t shared) const {
    static_assert(S::kGroups == 2);
    constexpr int kHalf = S::kRowTiles / 2;
    const bool is_up = threadIdx.x >= 4 * kWarp;
    const std::uint32_t slots = shared + threadIdx.x % (4 * kWarp) * sizeof(float4);
    sync_groups();  // the slots of the tile before have been read
    is_up ? send<S, 0, kHalf>(total, slots) : send<S, kHalf, S::kRowTiles>(total, slots);
    sync_groups();
    if (place.out * kQuad >= to.padded_k) return;
    is_up ? finish<S, kHalf, S::kRowTiles, true>(total, place, slots) : finish<S, 0, kHalf, false>(total, place, slots);
  }

 private:
  static __device__ __forceinline__ void sync_groups() { asm volatile("bar.sync 1, 256;\n" ::: "memory"); }

  template <class S, int kBegin, int kEnd>
  static __device__ __forceinline__ void send(const float (&total)[S::kRows / 2], std::uint32_t slots) {
#pragma unroll
    for (int t = kBegin; t < kEnd; ++t) {
      asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};\n" ::"r"(slots + t * (4 * kWarp * 16)), "f"(total[4 * t]),
                   "f"(total[4 * t + 1]), "f"(total[4 * t + 2]), "f"(total[4 * t + 3])
                   : "memory");
    }
  }

  /// Writes row tiles [kBegin, kEnd).
  template <class S, int kBegin, int kEnd, bool kIsUp>
  __device__ __forceinline__ void finish(const float (&total)[S::kRows / 2], const TilePlace& place,
                                         std::uint32_t slots) const {
    const int output = place.out * kQuad + threadIdx.x / kWarp % 4 * kTile + threadIdx.x % kWarp / 4;
    float biases[2][2] = {};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (output + 8 * h >= n_outputs) continue;
      if (gate_bias != nullptr) biases[0][h] = gate_bias[output + 8 * h];
      if (up_bias != nullptr) biases[1][h] = up_bias[output + 8 * h];
    }
#pragma unroll
    for (int t = kBegin; t < kEnd; ++t) {
      const float4 other = read_shared<float4>(slots + t * (4 * kWarp * 16));
      const float others[4] = {other.x, other.y, other.z, other.w};
      float numbers[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float own = total[4 * t + i];
        numbers[i] = output + i / 2 * 8 < n_outputs
                         ? number(kIsUp ? others[i] : own, kIsUp ? own : others[i], biases[0][i / 2], biases[1][i / 2])
                         : 0;
      }
      write(numbers, place.out, place.row * S::kRowTiles + t);
    }
  }

  __device__ __forceinline__ float number(float gate, float up, float of_gate, float of_up) const {
    if (gate_bias != nullptr) gate = __fadd_rn(gate, of_gate);
    if (up_bias != nullptr) up = __fadd_rn(up, of_up);
    return activated(gate, activation) * gated(up, activation);
  }

  /// Writes the numbers of one row tile: outputs o and o + 8 of rows r and r + 1. Threads of neighbouring outputs exchange
  /// rows, so that each writes two outputs of a row at a time.
  __device__ __forceinline__ void write(const float (&numbers)[4], int quad, int row_tile) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, odd = lane / 4 % 2, row = lane % 4 * 2 + odd;
    const std::int64_t n_row_tiles = div_up(to.n_rows, kRowTile);
    const bool is_there = static_cast<std::int64_t>(row_tile) * kRowTile + row < to.n_rows;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float first = numbers[2 * h], second = numbers[2 * h + 1];
      const float received = __shfl_xor_sync(~0U, odd != 0 ? first : second, 4);
      const std::uint32_t pair = odd != 0 ? packed(received, second) : packed(first, received);
      const int k = static_cast<int>(threadIdx.x) / kWarp % 4 * kTile + 8 * h + lane / 4 - odd;
      if (is_there)
        *reinterpret_cast<std::uint32_t*>(static_cast<__nv_bfloat16*>(to.data) +
                                          x_block_place(static_cast<std::int64_t>(row_tile) * kRowTile + row,
                                                        static_cast<std::int64_t>(quad) * kQuad + k, n_row_tiles)) = pair;
    }
  }
#endif
};

using Gated = ManyShape<2, 16, 8>;  // 64 outputs, 128 rows

}  // namespace

void multiply_many_gated(Stream stream, const PreparedX& to, const PreparedX& x, const GatedMatrices& in,
                         const ManyScratch& scratch) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(are_gated_together(in.gate, in.up) && x.is_bf16 && x.in_blocks && to.is_bf16 && to.in_blocks && has_wgmma());
  LATHE_CHECK(x.padded_k == in.up.layout.padded_k());
  LATHE_CHECK(to.n_rows == x.n_rows && to.padded_k == round_up(in.up.layout.n, kQuad));
  if (needs_unit_sums(in.up.layout)) sum_units(stream, scratch.unit_sums, x, in.up.layout.unit());
  const ManyInput input{.x = x, .first = in.gate, .second = in.up, .scratch = scratch};
  const StoreManyGated end{.to = to,
                           .n_outputs = static_cast<int>(in.up.layout.n),
                           .gate_bias = in.gate_bias,
                           .up_bias = in.up_bias,
                           .activation = in.activation};
  for_forms(in.up, [&](auto form) { launch_many<decltype(form), Gated>(stream, input, end); });
}

}  // namespace lathe::kernels::cuda
