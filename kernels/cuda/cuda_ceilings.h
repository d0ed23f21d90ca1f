// SPDX-License-Identifier: Apache-2.0
// measure_ceilings(): the rates that a CUDA device reaches, for Backend::measure_ceilings().
#pragma once

#include "kernels/api/ceilings.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// `n_processors`: multiprocessors of the device. Without memory for the measurements all rates are 0.
Ceilings measure_ceilings(Stream stream, int n_processors);

}  // namespace lathe::kernels::cuda
