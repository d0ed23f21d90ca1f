// SPDX-License-Identifier: Apache-2.0
// CodedTensor: a matrix that a checkpoint holds as codes of a few bits, with scales in tensors of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/coded_rows.h"
#include "kernels/api/rounded_tensor.h"

namespace lathe::engine {

/// Consecutive rows of a coded tensor. The caller sets `first` and `n` and sizes the vectors.
struct CodedRows {
  std::int64_t first = 0, n = 0;
  std::vector<std::uint8_t> codes;  ///< [n, k]
  std::vector<float> scales;        ///< [n, n_groups]
  std::vector<float> zeros;         ///< [n, n_groups] zero points or minimums; empty for tensors without
};

/// Encoding of a tensor's codes; it decides which weight formats can keep them.
enum class CodeEncoding : std::uint8_t {
  int4,          ///< integers of 4 bits; the zero point is 8 unless zero points are stored
  int8,          ///< integers of 8 bits; the zero point is 128 unless zero points are stored
  int8_dynamic,  ///< int8, made for activations in 8 bits
  llm_int8,      ///< int8 whose scales belong to 127 (bitsandbytes)
  e4m3,
  nf4,
  fp4,
  mxfp4,           ///< floats of 4 bits (e2m1)
  codebook4,       ///< indices into a codebook of 16 values that no weight format has
  uint4_min,       ///< integers of 4 bits from 0 up, with minimums instead of zero points
  uint8_min,       ///< integers of 8 bits from 0 up, with minimums instead of zero points
  int4_subscaled,  ///< int4 made of fewer bits, with scales that are products of two (GGUF's Q3_K)
  int8_subscaled,  ///< int8 with scales that are products of two (GGUF's Q6_K)
  iq4              ///< indices into the codebook of IQ4_NL
};

/// Element (row, k) is (numbers[code] - zero) * scale in f32, each operation rounded, then multiplied by `step` where that
/// is not 1. For encodings with minimums it is numbers[code] * scale + minimum.
/// Owns: tables; the bytes that `read` takes belong to the checkpoint's mappings.
struct CodedTensor {
  std::string form;  ///< how the bytes are read, apart from their values: part of the content's identity
  CodeEncoding kind = CodeEncoding::int4;
  std::int64_t n_rows = 0, k = 0;
  std::int64_t n_groups = 1;             ///< groups per row
  std::int64_t group = 0;                ///< consecutive weights of a row that share a scale; the last group may be shorter
  std::int64_t block = 0;                ///< weights that share a scale in the files, where rows split those; 0: `group`
  std::vector<std::int32_t> group_of{};  ///< [k] group of each weight, where groups are not consecutive; else empty
  std::shared_ptr<const std::vector<float>> numbers{};
  float step = 1;
  bool has_zeros = false;
  /// Fills codes, scales and zeros, which the caller has sized.
  std::function<void(CodedRows& rows)> read{};
  /// Weight formats that keep these codes and scales exactly, the best first. Empty: the tensor can only be decoded.
  std::vector<kernels::WeightFormat> formats{};
};

/// Properties of the stored values that limit the weight formats.
struct CodedValues {
  bool are_halves = true;  ///< every scale is an f16 value
  bool are_middle = true;  ///< every zero point is the middle of the code range
};

/// Whether the encoding has minimums instead of zero points.
bool has_minimums(CodeEncoding kind);

/// Values of all codes of an encoding. Requires: not codebook4.
std::shared_ptr<const std::vector<float>> numbers_of(CodeEncoding kind);

/// Whether the tensor's groups, which are not consecutive, have the sizes of consecutive groups.
bool has_even_groups(const CodedTensor& tensor);

/// Input index in the files of each element of a row that write_rows() writes: group after group, each in the order of the
/// files. Empty: the files already have this order.
std::vector<std::int32_t> input_order(const CodedTensor& tensor);

/// Weight formats that keep the tensor without loss when its rows are in input_order().
std::vector<kernels::WeightFormat> formats_that_keep(const CodedTensor& tensor, const CodedValues& values);

/// Decodes the tensor to f32 [n_rows, k].
void decode(const CodedTensor& tensor, const kernels::ParallelFor& parallel_for, float* to);

/// Writes the rows, in input_order(), in the layout of Backend::pack_rows: n_rows * coded_row_bytes(format, k) bytes.
/// Requires: one of `formats`.
void write_rows(const CodedTensor& tensor, kernels::WeightFormat format, const kernels::ParallelFor& parallel_for,
                std::byte* to);

}  // namespace lathe::engine
