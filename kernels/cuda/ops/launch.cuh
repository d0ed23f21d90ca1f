// SPDX-License-Identifier: Apache-2.0
// Helpers of the functions that launch kernels.
#pragma once

#include <cuda_runtime.h>

#include <bit>

#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/ops/fragments.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

inline void check_launch() { check(cudaGetLastError(), "launch"); }

inline TiledWeights tiled(const StoredMatrix& matrix) {
  LATHE_CHECK(std::has_single_bit(static_cast<std::uint64_t>(matrix.layout.group)) || matrix.layout.group == 0);
  TiledWeights w{
      .weights = static_cast<const uint4*>(matrix.weights),
      .scales = matrix.scales,
      .n_steps = static_cast<int>(matrix.layout.n_steps()),
      .n_groups = static_cast<int>(matrix.layout.n_groups()),
      .group_shift = matrix.layout.group == 0 ? 31 : std::countr_zero(static_cast<std::uint64_t>(matrix.layout.group)),
      .off = matrix.off,
      .book = {}};
  for (int i = 0; i < 16; ++i) w.book[i] = matrix.book[i];
  return w;
}

/// Calls body with a Quad of the matrix's storage and scales. Requires: a matrix of codes in tiles.
template <class Body>
void for_codes(const StoredMatrix& matrix, const Body& body) {
  const Storage storage = matrix.layout.storage;
  const ScaleKind scales = matrix.layout.scales;
  if (storage == Storage::code8) {
    switch (scales) {
      case ScaleKind::half: return body(Quad<Storage::code8, ScaleKind::half, false>());
      case ScaleKind::single: return body(Quad<Storage::code8, ScaleKind::single, false>());
      case ScaleKind::zero: return body(Quad<Storage::code8, ScaleKind::zero, false>());
      case ScaleKind::minimum: return body(Quad<Storage::code8, ScaleKind::minimum, false>());
      case ScaleKind::none: break;
    }
  } else if (storage == Storage::code4 && !matrix.has_book) {
    switch (scales) {
      case ScaleKind::half: return body(Quad<Storage::code4, ScaleKind::half, false>());
      case ScaleKind::zero: return body(Quad<Storage::code4, ScaleKind::zero, false>());
      case ScaleKind::minimum: return body(Quad<Storage::code4, ScaleKind::minimum, false>());
      default: break;
    }
  } else if (storage == Storage::code4 && scales == ScaleKind::single) {
    return body(Quad<Storage::code4, ScaleKind::single, true>());
  } else if (storage == Storage::e4m3 && scales == ScaleKind::single) {
    return body(Quad<Storage::e4m3, ScaleKind::single, false>());
  }
  LATHE_CHECK(false);
}

template <class Body>
void for_pieces(const StoredMatrix& matrix, const Body& body) {
  if (matrix.layout.storage == Storage::bf16) return body(Quad<Storage::bf16, ScaleKind::none, false>());
  for_codes(matrix, body);
}

}  // namespace lathe::kernels::cuda
