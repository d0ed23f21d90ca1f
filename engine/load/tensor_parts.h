// SPDX-License-Identifier: Apache-2.0
// TensorParts: joins the several tensors of a checkpoint that hold one quantized matrix into one tensor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Values of a floating type at any address, possibly unaligned.
struct NumberList {
  const std::byte* data = nullptr;
  kernels::Dtype dtype = kernels::Dtype::f32;
  std::int64_t n = 0;
  float at(std::int64_t i) const;
  /// Whether every value is exact in f16. Reads the values unless the dtype decides.
  bool are_halves() const;
};

/// Word i of an array of 32-bit words, possibly unaligned.
std::uint32_t word_at(std::span<const std::byte> words, std::int64_t i);

/// Owns: nothing; the checkpoint outlives it. Errors of all functions: model_refused, `where` = "file: tensor".
class TensorParts {
 public:
  explicit TensorParts(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// Names of all tensors with this ending, without it: "model.layers.0.mlp.up_proj" for ".qweight".
  std::vector<std::string> modules_with(std::string_view ending) const;
  /// The tensor of this name, or null.
  const StoredTensor* find(const std::string& name) const { return checkpoint_.find(name); }
  /// The tensor of this name and file type, such as "I32". Errors: missing, another type.
  Result<const StoredTensor*> of_type(const std::string& name, std::string_view type) const;
  /// The tensor of this name, of F32, F16 or BF16 and any shape. Errors: missing, another type.
  Result<const StoredTensor*> floating(const std::string& name) const;

  /// Errors: the shape differs.
  Result<void> check_shape(const StoredTensor& tensor, std::initializer_list<std::int64_t> shape) const;
  /// Checks for the shape [rows, columns]; a tensor of one dimension or none needs only the same number of elements. Errors:
  /// the size differs.
  Result<void> check_grid(const StoredTensor& tensor, std::int64_t rows, std::int64_t columns) const;
  /// Group of each of k weights, from I32 [k]; empty where groups are consecutive. Errors: a group out of range.
  Result<std::vector<std::int32_t>> read_order(const StoredTensor& tensor, std::int64_t k, std::int64_t group) const;
  tl::unexpected<Error> refuse(const StoredTensor& tensor, std::string message) const;

  /// Replaces several tensors by one; null entries are skipped. The first tensor holds the codes.
  /// Requires: `coded.n_rows` and `coded.k` agree with the sizes of the tensors.
  void join(std::string name, CodedTensor coded, std::initializer_list<const StoredTensor*> tensors);
  std::size_t n_joined() const { return joined_.size(); }

  /// Stores all tensors in the checkpoint, with joined ones instead of their parts.
  Result<void> put_back(Checkpoint& checkpoint) const;

 private:
  const Checkpoint& checkpoint_;
  std::vector<StoredTensor> joined_;
  std::set<std::string, std::less<>> used_;
};

/// The values of a tensor. Requires: a floating type.
NumberList numbers_in(const StoredTensor& tensor);

/// Number of groups of `group` elements in k; the last may be shorter.
constexpr std::int64_t groups_in(std::int64_t k, std::int64_t group) { return k / group + (k % group != 0 ? 1 : 0); }

}  // namespace lathe::engine
