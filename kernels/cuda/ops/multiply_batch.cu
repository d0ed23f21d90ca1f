// SPDX-License-Identifier: Apache-2.0
// Products with a batch of rows: the shape of a block of threads for each form of weights and number of rows.
#include "kernels/cuda/ops/batch_product.cuh"

namespace lathe::kernels::cuda {
namespace {

// Groups of codes are short, and the sums of several are held: fewer warpgroups have more registers each.
template <class F>
using UpTo32 = BatchShape<4, F::kHasCodes ? 3 : 4>;
template <class F>
using UpTo64 = BatchShape<8, F::kHasCodes ? 2 : 3>;

template <class F>
void launch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias,
            const float* unit_sums) {
  if (x.n_rows <= UpTo32<F>::kRows) return launch_batch<F, UpTo32<F>>(stream, out, x, matrix, bias, unit_sums);
  // Sums over more rows of units of 16 k, or with an offset, do not fit into registers: see most_batch_rows().
  if constexpr (!F::kHasOffset && F::kUnitSteps > 1) launch_batch<F, UpTo64<F>>(stream, out, x, matrix, bias, unit_sums);
}

}  // namespace

void multiply_batch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias,
                    const float* unit_sums) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.is_bf16 && x.in_blocks && has_wgmma() && x.padded_k == matrix.layout.padded_k());
  LATHE_CHECK(x.n_rows <= most_batch_rows(matrix.layout));
  for_forms(matrix, [&](auto form) { launch<decltype(form)>(stream, out, x, matrix, bias, unit_sums); });
}

}  // namespace lathe::kernels::cuda
