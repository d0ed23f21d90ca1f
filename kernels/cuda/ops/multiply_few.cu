// SPDX-License-Identifier: Apache-2.0
// Products with few rows: the division among warps for each form of weights and number of rows.
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/ops/few_product.cuh"

namespace lathe::kernels::cuda {
namespace {

// Most row tiles of one launch. For 32 rows codes are read twice: the sums of their units take too many registers.
template <class F>
constexpr int kMostRowTiles = F::kHasCodes ? 2 : 4;

// Up to 8 rows, 16 and 32. Two tiles of bf16 share what is loaded of x.
template <class F, int kRowTiles>
struct CutOf;
template <class F>
struct CutOf<F, 1> : std::conditional_t<F::kHasCodes, FewCut<1, 1, 16, 8, 4>, FewCut<1, 2, 8, 8, 4, 4>> {};
template <class F>
struct CutOf<F, 2> : std::conditional_t<F::kHasCodes, FewCut<2, 1, 16, 8, 4>, FewCut<2, 2, 8, 16, 4>> {};
template <class F>
struct CutOf<F, 4> : FewCut<4, 2, 8, 16, 4> {};

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
    else if constexpr (kMostRowTiles<F> > 2) launch_few<F, CutOf<F, 4>>(stream, product, end);
  }
}

}  // namespace

void multiply_few(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.n_rows <= kMaxFewRows && x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  for_forms(matrix, [&](auto form) { launch<decltype(form)>(stream, out, x, matrix, bias); });
}

}  // namespace lathe::kernels::cuda
