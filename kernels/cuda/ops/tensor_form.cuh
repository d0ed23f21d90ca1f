// SPDX-License-Identifier: Apache-2.0
// Chooses the template arguments of attention on tensor cores.
#pragma once

#include "kernels/cuda/ops/kv.cuh"

namespace lathe::kernels::cuda {

/// Calls body<head_dim>(). False: there are no kernels for this head_dim.
template <class Body>
bool for_head_dim(int head_dim, const Body& body) {
  switch (head_dim) {
#ifndef LATHE_FEW_DIMS
    case 80: body.template operator()<80>(); return true;
    case 192: body.template operator()<192>(); return true;
    case 64: body.template operator()<64>(); return true;
    case 96: body.template operator()<96>(); return true;
    case 256: body.template operator()<256>(); return true;
#endif
    case 128: body.template operator()<128>(); return true;
    default: return false;
  }
}

/// Calls body<T, head_dim, is_plain>(). Requires: has_tensor_attention().
template <class Body>
void for_tensor_form(const KvShape& shape, bool is_plain, const Body& body) {
  const bool is_known = for_head_dim(shape.head_dim, [&]<int kDim>() {
    const auto with_type = [&]<class T>() {
      is_plain ? body.template operator()<T, kDim, true>() : body.template operator()<T, kDim, false>();
    };
#ifdef LATHE_FEW_DIMS
    body.template operator()<__nv_bfloat16, kDim, true>();
#else
    shape.dtype == Dtype::bf16 ? with_type.template operator()<__nv_bfloat16>() : with_type.template operator()<__half>();
#endif
  });
  LATHE_CHECK(is_known);
}

}  // namespace lathe::kernels::cuda
