// SPDX-License-Identifier: Apache-2.0
// Helpers that the kernel tests share: one row of data for each instruction set, packing, and bitwise comparison.
#pragma once

#include <QTest>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/api/backend.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::tests {

/// One data row for each instruction set that this machine has.
inline void add_isa_rows() {
  QTest::addColumn<QString>("isa");
  for (const std::string& isa : kernels::cpu_isas()) QTest::newRow(isa.c_str()) << QString::fromStdString(isa);
}

/// Whether products of bf16 weights round the activations to bf16.
inline bool rounds_to_bf16(std::string_view isa) { return isa == "avx512_bf16" || isa == "avx512_amx"; }

/// The backend of the running data row.
inline std::unique_ptr<kernels::Backend> backend_of_row(int n_threads = 2) {
  const QString isa = QString::fromUtf8(QTest::currentDataTag());
  return kernels::make_cpu_backend({.n_threads = n_threads, .isa = isa.toStdString()});
}

inline std::unique_ptr<kernels::PackedMatrix> packed(kernels::Backend& backend, kernels::WeightFormat format,
                                                     const kernels::TensorView& weights) {
  auto matrix = backend.make_packed(format, weights.dim(0), weights.dim(1));
  backend.pack_rows(*matrix, 0, weights);
  return matrix;
}

/// True when all columns of f32 rows but [begin, begin + count) are 0.
inline bool are_others_zero(const kernels::TensorView& rows, std::int64_t begin, std::int64_t count) {
  for (std::int64_t m = 0; m < rows.dim(0); ++m) {
    for (std::int64_t i = 0; i < rows.dim(1); ++i) {
      if ((i < begin || i >= begin + count) && rows.row<float>(m)[i] != 0) return false;
    }
  }
  return true;
}

/// True when rows a[i] and b[i] of f32 tensors hold the same bits.
inline bool same_bits(const kernels::TensorView& a, const kernels::TensorView& b) {
  if (a.dim(0) != b.dim(0) || a.dim(1) != b.dim(1)) return false;
  for (std::int64_t m = 0; m < a.dim(0); ++m) {
    if (std::memcmp(a.row<float>(m), b.row<float>(m), static_cast<std::size_t>(a.dim(1)) * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace lathe::tests
