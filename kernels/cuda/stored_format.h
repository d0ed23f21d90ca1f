// SPDX-License-Identifier: Apache-2.0
// Stored format: how a weight format is stored on a CUDA device.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cuda/ops/ops.h"
#include "kernels/formats/codes/coded.h"

namespace lathe::kernels::cuda {

/// The layout of a matrix and the values of its codes, without its memory. A matrix whose rows do not begin with a group is
/// stored as f32, as on a CPU.
StoredMatrix stored_matrix(WeightFormat format, std::int64_t n, std::int64_t k);

/// True if the matrix is stored as codes and scales.
bool is_stored_coded(const StoredMatrix& matrix);

/// The scale as it is stored: for 8-bit integer codes with f32 scales multiplied by CodedFormat::step, since kernels compute
/// integer values in units of a step.
float stored_scale(const CodedFormat& format, const StoredMatrix& matrix, float scale);

}  // namespace lathe::kernels::cuda
