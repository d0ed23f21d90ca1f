// SPDX-License-Identifier: Apache-2.0
// ThreadScratch: memory of which each thread of a job has its own part.
#pragma once

#include <cstdint>

namespace lathe::kernels {

struct ThreadScratch {
  float* data;
  std::int64_t floats_each;

  float* of(int thread) const { return data + thread * floats_each; }
};

}  // namespace lathe::kernels
