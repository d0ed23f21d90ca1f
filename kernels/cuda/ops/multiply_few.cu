// SPDX-License-Identifier: Apache-2.0
// Products with few rows: the division among warps for each form of weights and number of rows.
#include <algorithm>

#include "kernels/cuda/ops/few_product.cuh"

namespace lathe::kernels::cuda {
namespace {

// Most row tiles of one launch: sums of more do not fit into registers.
template <class F>
constexpr int kMostRowTiles = F::kHasCodes ? 4 : 8;

// Up to 8 rows, 16, 32 and 64. More row tiles need more registers, so fewer warps.
template <int kRowTiles>
using CutOf = FewCut<kRowTiles, 1, kRowTiles <= 2 ? 16 : 8, kRowTiles <= 2 ? 8 : 16, kRowTiles == 1 ? 8 : kRowTiles <= 4 ? 4 : 2>;

template <class F>
void launch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  constexpr std::int64_t kMostRows = kMostRowTiles<F> * kRowTile;
  for (std::int64_t first = 0; first < x.n_rows; first += kMostRows) {
    const std::int64_t n_rows = std::min(x.n_rows - first, kMostRows);
    const FewProduct product = few_product(x, matrix, matrix, first, n_rows);
    const StoreRows end{.out = out.data + first * out.stride,
                        .stride = out.stride,
                        .n_rows = static_cast<int>(n_rows),
                        .n_outputs = static_cast<int>(matrix.layout.n),
                        .bias = bias};
    if (n_rows <= kRowTile) launch_few<F, CutOf<1>>(stream, product, end);
    else if (n_rows <= 2 * kRowTile) launch_few<F, CutOf<2>>(stream, product, end);
    else if (n_rows <= 4 * kRowTile) launch_few<F, CutOf<4>>(stream, product, end);
    else if constexpr (kMostRowTiles<F> > 4) launch_few<F, CutOf<8>>(stream, product, end);
  }
}

}  // namespace

void multiply_few(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.n_rows <= kMaxFewRows && x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  for_forms(matrix, [&](auto form) { launch<decltype(form)>(stream, out, x, matrix, bias); });
}

}  // namespace lathe::kernels::cuda
