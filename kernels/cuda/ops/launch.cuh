// SPDX-License-Identifier: Apache-2.0
// Helpers of the functions that launch kernels.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/ops/fragments.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

inline void check_launch() { check(cudaGetLastError(), "launch"); }

}  // namespace lathe::kernels::cuda
