// SPDX-License-Identifier: Apache-2.0
// The products of all experts' down with their rows. Results go to pairs, whose order does not depend on the experts.
#include "kernels/cuda/ops/experts_product.cuh"

namespace lathe::kernels::cuda {
namespace {

struct StorePairs {
  static constexpr int kMatrices = 1;
  Rows out;
  const std::int32_t* pair_of;
  const ExpertMatrix* matrices;

  template <int kRowTiles>
  __device__ void store(const ExpertTotals<kRowTiles>& total, const ExpertItem& item, int lane) const {
    const float* const bias = matrices[item.expert].bias;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        const int row = r * kRowTile + lane % 4 * 2 + column;
        if (row >= item.n_rows) continue;
        float* const to = out.data + pair_of[item.first_slot + row] * out.stride;
#pragma unroll
        for (int t = 0; t < 2; ++t) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int output = (item.group * 2 + t) * kTile + lane / 4 + half * 8;
            const float number = total[t][r][half * 2 + column];
            if (output < out.n_columns) to[output] = bias != nullptr ? __fadd_rn(number, bias[output]) : number;
          }
        }
      }
    }
  }
};

}  // namespace

void multiply_experts(Stream stream, const Rows& out, const PlacedRows& rows, const PreparedX& x,
                      const ExpertMatrices& matrices, int n_processors) {
  LATHE_CHECK(out.n_columns == matrices.form.layout.n);
  const StorePairs end{.out = out, .pair_of = rows.pair_of, .matrices = matrices.of_expert};
  launch_experts(stream, rows, x, matrices, matrices, end, n_processors);
}

}  // namespace lathe::kernels::cuda
