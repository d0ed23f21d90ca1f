// SPDX-License-Identifier: Apache-2.0
// Chooses the template arguments of attention on tensor cores. Each line of the table is a kernel of each kind, and takes
// several seconds to compile; other forms are left to attention(), whose kernels know them all.
#pragma once

#include "kernels/cuda/ops/kv.cuh"

namespace lathe::kernels::cuda {

/// Whether attend_wide() has kernels for heads of that size.
constexpr bool is_wide_head(int head_dim) { return head_dim == 64 || head_dim == 128; }

/// Calls body<T, head_dim, is_plain>(), or does nothing if there are no kernels of that form. `is_plain`: Scoring::is_plain.
template <class Body>
void for_tensor_form(const KvShape& shape, bool is_plain, const Body& body) {
  const auto is_form = [&](Dtype dtype, int head_dim, bool of_plain) {
    return shape.dtype == dtype && shape.head_dim == head_dim && is_plain == of_plain;
  };
  if (is_form(Dtype::bf16, 64, true)) return body.template operator()<__nv_bfloat16, 64, true>();
  if (is_form(Dtype::bf16, 80, true)) return body.template operator()<__nv_bfloat16, 80, true>();
  if (is_form(Dtype::bf16, 96, true)) return body.template operator()<__nv_bfloat16, 96, true>();
  if (is_form(Dtype::bf16, 128, true)) return body.template operator()<__nv_bfloat16, 128, true>();
  if (is_form(Dtype::bf16, 256, true)) return body.template operator()<__nv_bfloat16, 256, true>();
  if (is_form(Dtype::bf16, 64, false)) return body.template operator()<__nv_bfloat16, 64, false>();
  if (is_form(Dtype::bf16, 128, false)) return body.template operator()<__nv_bfloat16, 128, false>();
  if (is_form(Dtype::bf16, 256, false)) return body.template operator()<__nv_bfloat16, 256, false>();
  if (is_form(Dtype::f16, 64, true)) return body.template operator()<__half, 64, true>();
  if (is_form(Dtype::f16, 96, true)) return body.template operator()<__half, 96, true>();
  if (is_form(Dtype::f16, 128, true)) return body.template operator()<__half, 128, true>();
  if (is_form(Dtype::f16, 256, true)) return body.template operator()<__half, 256, true>();
}

}  // namespace lathe::kernels::cuda
