// SPDX-License-Identifier: Apache-2.0
// How a weight format is stored on a CUDA device.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cuda/ops/ops.h"
#include "kernels/formats/codes/coded.h"

namespace lathe::kernels::cuda {

/// The layout of a matrix, without its memory, and what its codes stand for. Rows whose groups do not begin with them are
/// kept as f32, as on a CPU.
StoredMatrix stored_matrix(WeightFormat format, std::int64_t n, std::int64_t k);

/// True if codes are kept as codes.
bool is_stored_coded(const StoredMatrix& matrix);

/// A scale of the format as it is stored: whole numbers are multiples of CodedFormat::step.
float stored_scale(const CodedFormat& format, const StoredMatrix& matrix, float scale);

}  // namespace lathe::kernels::cuda
