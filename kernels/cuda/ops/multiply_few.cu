// SPDX-License-Identifier: Apache-2.0
// Products with few rows: the division among warps for each form of weights and number of rows.
#include <algorithm>

#include "kernels/cuda/ops/few_product.cuh"

namespace lathe::kernels::cuda {
namespace {

// Most row tiles of one launch: sums of more do not fit into registers.
template <class F>
constexpr int kMostRowTiles = F::kHasCodes ? 4 : 8;

template <class F, int kRowTiles>
struct CutOf;
// bf16, and codes: up to 8 rows, 16, 32 and 64.
template <class F>
struct CutOf<F, 1> : FewCut<1, 1, 8, F::kHasCodes ? 3 : 4, 1, 2> {};
template <class F>
struct CutOf<F, 2> : FewCut<2, F::kHasCodes ? 1 : 2, 8, 3, 1, F::kHasCodes ? 2 : 1> {};
template <class F>
struct CutOf<F, 4> : FewCut<4, F::kHasCodes ? 1 : 2, 8, 3, 1, F::kHasCodes ? 2 : 1> {};
template <class F>
struct CutOf<F, 8> : FewCut<8, 2, 8, 3, 1, 1> {};

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
    if (n_rows <= kRowTile) launch_few<F, CutOf<F, 1>>(stream, product, end);
    else if (n_rows <= 2 * kRowTile) launch_few<F, CutOf<F, 2>>(stream, product, end);
    else if (n_rows <= 4 * kRowTile) launch_few<F, CutOf<F, 4>>(stream, product, end);
    else if constexpr (kMostRowTiles<F> > 4) launch_few<F, CutOf<F, 8>>(stream, product, end);
  }
}

}  // namespace

void multiply_few(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.n_rows <= kMaxFewRows && x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  for_forms(matrix, [&](auto form) { launch<decltype(form)>(stream, out, x, matrix, bias); });
}

}  // namespace lathe::kernels::cuda
