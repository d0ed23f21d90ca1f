// SPDX-License-Identifier: Apache-2.0
// Measures what the machine can do at most: plain reads and independent multiply-adds, for measure_ceilings().
#pragma once

#include "kernels/cpu/ops/dot.h"
#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {
namespace {

/// Sums all values in four parallel streams, which keeps more reads of one core in flight.
template <class V>
float read_bytes(const std::byte* data, std::int64_t n) {
  constexpr int kStreams = 4;
  constexpr int kUnroll = 64 / static_cast<int>(sizeof(float)) / V::kLanes;  // a cache line
  const std::int64_t part = n / static_cast<std::int64_t>(sizeof(float)) / kStreams;
  const float* in = reinterpret_cast<const float*>(data);
  typename V::Float sum[kStreams] = {V::zero(), V::zero(), V::zero(), V::zero()};
  for (std::int64_t i = 0; i < part; i += kUnroll * V::kLanes) {
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s) {
#pragma GCC unroll 16
      for (int u = 0; u < kUnroll; ++u) sum[s] = V::add(sum[s], V::load(in + s * part + i + u * V::kLanes));
    }
  }
  return V::sum(V::add(V::add(sum[0], sum[1]), V::add(sum[2], sum[3])));
}

/// Runs 12 independent chains: more than latency times the number of units on any machine so far (8 to 10).
template <class V>
double multiply_add(std::int64_t n_iterations) {
  constexpr int kChains = 12;
  volatile float start = 1e-6F;
  const auto x = V::set(start);
  const auto y = V::set(start);
  typename V::Float acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) acc[c] = V::set(static_cast<float>(c));
  for (std::int64_t i = 0; i < n_iterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = V::fma(acc[c], x, y);
  }
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) acc[0] = V::add(acc[0], acc[c]);
  volatile float sink = V::sum(acc[0]);
  static_cast<void>(sink);
  return static_cast<double>(n_iterations) * kChains * V::kLanes * 2;
}

/// Computes products of codes and bytes by D, without the loads and scales that a real product needs.
template <class V, class D>
double dot_codes(std::int64_t n_iterations) {
  constexpr int kChains = V::kRegisters >= 32 ? 12 : 8;
  constexpr int kQuads = 8;  // quads read in turn: the compiler would move products of constants out of the loop
  alignas(64) std::byte codes[64] = {};
  alignas(64) std::byte x[kQuads * D::kQuadBytes] = {};
  const auto w = D::template prepare<0>(V::load_int(codes));
  typename V::Int acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) acc[c] = V::set_int(c);
  for (std::int64_t i = 0; i < n_iterations; ++i) {
    const std::byte* quad = x + i % kQuads * D::kQuadBytes;
    asm volatile("" ::"r"(quad) : "memory");
#pragma GCC unroll 2
    for (int part = 0; part < D::kParts; ++part) {
      const auto bytes = broadcast<V>(quad + part * kQuad);
#pragma GCC unroll 12
      for (int c = 0; c < kChains; ++c) D::add(acc[c], w, bytes);
    }
  }
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) acc[0] = V::add_int(acc[0], acc[c]);
  volatile float sink = V::sum(V::to_float(acc[0]));
  static_cast<void>(sink);
  return static_cast<double>(n_iterations) * kChains * V::kLanes * kQuad * 2;
}

}  // namespace
}  // namespace lathe::kernels
