// SPDX-License-Identifier: Apache-2.0
// Measures the machine's ceilings with the backend's own threads.
#include <atomic>
#include <cstring>

#include "kernels/api/selftest.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

// Several times the largest L3 of the measured machines (48 MB).
constexpr std::int64_t kReadBytes = std::int64_t{256} << 20;
constexpr std::int64_t kReadChunk = std::int64_t{1} << 20;
constexpr double kReadSeconds = 0.3;
constexpr double kComputeSeconds = 0.1;

double measure_read(Backend& backend, const OpTable& ops) {
  const Buffer buffer = backend.allocate(kReadBytes);
  if (!buffer) return 0;
  auto* const data = static_cast<std::byte*>(buffer.data());
  const auto n_chunks = kReadBytes / kReadChunk;
  // Every page is written once: pages that were never written all map to one page of zeros.
  backend.parallel_for(n_chunks, [&](std::int64_t begin, std::int64_t end) {
    std::memset(data + begin * kReadChunk, 1, static_cast<std::size_t>((end - begin) * kReadChunk));
  });
  std::atomic<float> sink{0};
  const double seconds = best_seconds(kReadSeconds, [&] {
    backend.parallel_for(n_chunks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sink.store(ops.read_bytes(data + i * kReadChunk, kReadChunk));
    });
  });
  return static_cast<double>(kReadBytes) / seconds * 1e-9;
}

double measure_compute(Backend& backend, double (*work)(std::int64_t)) {
  if (work == nullptr) return 0;
  constexpr std::int64_t kIterations = 100'000;  // about 0.2 ms
  const std::int64_t n_chunks = std::int64_t{32} * backend.info().n_threads;
  const double operations = work(kIterations) * static_cast<double>(n_chunks);
  const double seconds = best_seconds(kComputeSeconds, [&] {
    backend.parallel_for(n_chunks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) work(kIterations);
    });
  });
  return operations / seconds * 1e-9;
}

}  // namespace

Ceilings measure_ceilings(Backend& backend) {
  if (const auto own = backend.measure_ceilings()) return *own;
  const IsaDescriptor* isa = find_isa(backend.info().isa);
  if (isa == nullptr) return {};
  return {.read_gb_s = measure_read(backend, isa->ops()),
          .fma_gflop_s = measure_compute(backend, isa->ops().multiply_add),
          .bf16_gflop_s = measure_compute(backend, isa->ops().bf16_dot),
          .int8_gop_s = measure_compute(backend, isa->ops().int8_dot),
          .int4_gop_s = measure_compute(backend, isa->ops().int4_dot)};
}

}  // namespace lathe::kernels
