// SPDX-License-Identifier: Apache-2.0
// Kernels that measure the device's ceilings: reads from memory, and the instructions that multiply.
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsOfBlock = kThreads / kWarp;
constexpr int kBlocksOfProcessor = 8;
constexpr int kIterations = 4096;
constexpr int kChains = 8;

__global__ void read_vectors(const uint4* data, std::size_t n, float* sink) {
  std::uint32_t bits = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
#pragma unroll 8
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    const uint4 four = __ldcs(data + i);
    bits ^= four.x ^ four.y ^ four.z ^ four.w;
  }
  if (bits == 0x9e3779b9U) *sink = 1;  // rarely true, but the compiler cannot know and so cannot remove the reads
}

__global__ void multiply_floats(float* sink, float factor) {
  float sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = static_cast<float>(threadIdx.x + c);
  for (int i = 0; i < kIterations; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) sums[c] = fmaf(sums[c], factor, 1.0F);
  }
  float sum = 0;
  for (int c = 0; c < kChains; ++c) sum += sums[c];
  if (sum == -1) *sink = sum;
}

__global__ void multiply_halves(float* sink, std::uint32_t seed) {
  float sums[kChains][4] = {};
  const std::uint32_t a[4] = {seed, seed + threadIdx.x, seed, seed};
  for (int i = 0; i < kIterations; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) multiply_add(sums[c], a, make_uint2(seed + c, seed));
  }
  float sum = 0;
  for (int c = 0; c < kChains; ++c) sum += sums[c][0] + sums[c][1] + sums[c][2] + sums[c][3];
  if (sum == -1) *sink = sum;
}

__global__ void multiply_bytes(float* sink, std::uint32_t seed) {
  int sums[kChains][4] = {};
  const std::uint32_t a[4] = {seed, seed + threadIdx.x, seed, seed};
  for (int i = 0; i < kIterations; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                   : "+r"(sums[c][0]), "+r"(sums[c][1]), "+r"(sums[c][2]), "+r"(sums[c][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(seed + c), "r"(seed));
    }
  }
  int sum = 0;
  for (int c = 0; c < kChains; ++c) sum += sums[c][0] + sums[c][1] + sums[c][2] + sums[c][3];
  if (sum == -1) *sink = 1;
}

unsigned blocks_of(int n_processors) { return static_cast<unsigned>(kBlocksOfProcessor * n_processors); }

/// Operations of all warps, which compute products of 16 x 8 x `k`; a multiply-add counts two.
double operations_of(int n_processors, int k) {
  return 2.0 * 16 * 8 * k * kChains * kIterations * kWarpsOfBlock * blocks_of(n_processors);
}

}  // namespace

double read_all(Stream stream, const void* data, std::size_t n_bytes, float* sink, int n_processors) {
  const std::size_t n = n_bytes / sizeof(uint4);
  read_vectors<<<blocks_of(n_processors), kThreads, 0, stream>>>(static_cast<const uint4*>(data), n, sink);
  check_launch();
  return static_cast<double>(n * sizeof(uint4));
}

double multiply_f32(Stream stream, float* sink, int n_processors) {
  multiply_floats<<<blocks_of(n_processors), kThreads, 0, stream>>>(sink, 1e-3F);
  check_launch();
  return 2.0 * kChains * kIterations * kThreads * blocks_of(n_processors);
}

double multiply_bf16(Stream stream, float* sink, int n_processors) {
  multiply_halves<<<blocks_of(n_processors), kThreads, 0, stream>>>(sink, 0x3f803f81U);
  check_launch();
  return operations_of(n_processors, 16);
}

double multiply_int8(Stream stream, float* sink, int n_processors) {
  multiply_bytes<<<blocks_of(n_processors), kThreads, 0, stream>>>(sink, 0x01020304U);
  check_launch();
  return operations_of(n_processors, 32);
}

}  // namespace lathe::kernels::cuda
