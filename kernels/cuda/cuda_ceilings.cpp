// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_ceilings.h"

#include <algorithm>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {
namespace {

// Many times the largest cache of the measured devices (60 MB).
constexpr std::size_t kReadBytes = std::size_t{2} << 30;
constexpr int kRuns = 5;

/// Rate of the fastest of several runs. The first run is not counted, since it loads the kernel.
/// Units: the value that `work` returns (bytes or operations) per second.
template <class Job>
double best_rate(Stream stream, const Job& work) {
  cudaEvent_t begin{}, end{};
  check(cudaEventCreate(&begin), "creating an event");
  check(cudaEventCreate(&end), "creating an event");
  double best = 0;
  for (int run = 0; run <= kRuns; ++run) {
    check(cudaEventRecord(begin, stream), "timing");
    const double amount = work();
    check(cudaEventRecord(end, stream), "timing");
    check(cudaEventSynchronize(end), "timing");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "timing");
    if (run > 0 && ms > 0) best = std::max(best, amount / (1e-3 * static_cast<double>(ms)));
  }
  check(cudaEventDestroy(begin), "destroying an event");
  check(cudaEventDestroy(end), "destroying an event");
  return best;
}

}  // namespace

Ceilings measure_ceilings(Stream stream, int n_processors) {
  constexpr double kGiga = 1e-9;
  DeviceBuffer sink = DeviceBuffer::allocate(sizeof(float), true);
  if (sink.data() == nullptr) return {};
  auto* const to = sink.as<float>();
  Ceilings ceilings{.multiplies_codes_in_bf16 = true};
  if (const DeviceBuffer data = DeviceBuffer::allocate(kReadBytes, true); data.data() != nullptr) {
    ceilings.read_gb_s =
        kGiga * best_rate(stream, [&] { return read_all(stream, data.data(), kReadBytes, to, n_processors); });
  }
  ceilings.fma_gflop_s = kGiga * best_rate(stream, [&] { return multiply_f32(stream, to, n_processors); });
  ceilings.bf16_gflop_s = kGiga * best_rate(stream, [&] { return multiply_bf16(stream, to, n_processors); });
  ceilings.int8_gop_s = kGiga * best_rate(stream, [&] { return multiply_int8(stream, to, n_processors); });
  return ceilings;
}

}  // namespace lathe::kernels::cuda
