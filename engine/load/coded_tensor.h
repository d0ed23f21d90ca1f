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

/// Some rows of a coded tensor: who asks sets which, and gives the room.
struct CodedRows {
  std::int64_t first = 0, n = 0;
  std::vector<std::uint8_t> codes;  ///< [n, k]
  std::vector<float> scales;        ///< [n, n_groups]
  std::vector<float> zeros;         ///< the same, of tensors with zero points or minimums; else empty
};

/// What the codes of a tensor are, and so which weight formats may have the same.
enum class CodeEncoding : std::uint8_t {
  int4,          ///< whole numbers of 4 bits, the middle is 8 unless zero points say otherwise
  int8,          ///< of 8 bits, the middle is 128
  int8_dynamic,  ///< the same, made for activations in 8 bits
  llm_int8,      ///< the same, scales are those of 127 (bitsandbytes)
  e4m3,
  nf4,
  fp4,
  mxfp4,           ///< numbers of 4 bits with an exponent (e2m1)
  codebook4,       ///< places in a book of 16 numbers that no format has
  uint4_min,       ///< whole numbers of 4 bits from 0 up, with minimums in the place of zero points
  uint8_min,       ///< of 8 bits
  int4_subscaled,  ///< of 4 bits, the middle is 8; made of fewer, with scales that are products (GGUF's Q3_K)
  int8_subscaled,  ///< of 8 bits, the middle is 128 (Q6_K)
  iq4              ///< places in the book of IQ4_NL
};

/// Number (row, k) is (numbers[code] - zero) * scale, in f32, each operation rounded; times `step` where that is not 1. Of
/// kinds with minimums it is numbers[code] * scale + minimum.
/// Owns: tables; the bytes that `read` takes belong to the checkpoint's mappings.
struct CodedTensor {
  std::string form;  ///< all that says how bytes are read beside their values: a part of what identifies the content
  CodeEncoding kind = CodeEncoding::int4;
  std::int64_t n_rows = 0, k = 0;
  std::int64_t n_groups = 1;             ///< of a row
  std::int64_t group = 0;                ///< consecutive weights of a row that share a scale; the last group may be shorter
  std::int64_t block = 0;                ///< weights that share a scale in the files, where rows cut those; 0: a group
  std::vector<std::int32_t> group_of{};  ///< [k] where they are not consecutive; else empty
  std::shared_ptr<const std::vector<float>> numbers{};
  float step = 1;
  bool has_zeros = false;
  /// Fills codes, scales and zeros, which have their sizes.
  std::function<void(CodedRows& rows)> read{};
  /// Weight formats that have these very codes and scales, the best first. None: only its numbers can be had.
  std::vector<kernels::WeightFormat> formats{};
};

/// What the values in the files allow.
struct CodedValues {
  bool are_halves = true;  ///< every scale is a number of f16
  bool are_middle = true;  ///< every zero point is the middle
};

/// It has minimums in the place of zero points.
bool has_minimums(CodeEncoding kind);

/// The numbers that codes of a kind stand for. Requires: not codebook4.
std::shared_ptr<const std::vector<float>> numbers_of(CodeEncoding kind);

/// Whether its groups, which do not follow each other, have as many weights as if they did.
bool has_even_groups(const CodedTensor& tensor);

/// The place in the files of each number of a row as write_rows() writes it: groups one after the other, each in the order
/// of the files. Empty: rows lie so already.
std::vector<std::int32_t> input_order(const CodedTensor& tensor);

/// Of all formats those that keep the tensor without loss, its rows in input_order().
std::vector<kernels::WeightFormat> formats_that_keep(const CodedTensor& tensor, const CodedValues& values);

/// Writes its numbers [n_rows, k].
void decode(const CodedTensor& tensor, const kernels::ParallelFor& parallel_for, float* to);

/// Writes its rows, in input_order(), as Backend::pack_rows takes them: n_rows * coded_row_bytes(format, k) bytes.
/// Requires: one of `formats`.
void write_rows(const CodedTensor& tensor, kernels::WeightFormat format, const kernels::ParallelFor& parallel_for,
                std::byte* to);

}  // namespace lathe::engine
