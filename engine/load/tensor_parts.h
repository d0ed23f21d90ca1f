// SPDX-License-Identifier: Apache-2.0
// TensorParts: the tensors of a checkpoint while those that hold a quantized matrix together become one.
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

/// Numbers of a floating type that lie anywhere, not aligned.
struct NumberList {
  const std::byte* data = nullptr;
  kernels::Dtype dtype = kernels::Dtype::f32;
  std::int64_t n = 0;
  float at(std::int64_t i) const;
  /// Whether f16 has each of them. Reads them unless their type says so.
  bool are_halves() const;
};

/// Word i of a list of 32-bit words.
std::uint32_t word_at(std::span<const std::byte> words, std::int64_t i);

/// Owns: nothing; the checkpoint outlives it. Errors of all: model_refused, `where` = "file: tensor".
class TensorParts {
 public:
  explicit TensorParts(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// The name of a tensor without such an ending: "model.layers.0.mlp.up_proj" for ".qweight".
  std::vector<std::string> modules_with(std::string_view ending) const;
  /// Null when it is not there.
  const StoredTensor* find(const std::string& name) const { return checkpoint_.find(name); }
  /// A tensor of the type "I32". Errors: missing, another type.
  Result<const StoredTensor*> of_type(const std::string& name, std::string_view type) const;
  /// A tensor of F32, F16 or BF16, of any shape.
  Result<const StoredTensor*> floating(const std::string& name) const;

  /// Errors: the shape is another.
  Result<void> check_shape(const StoredTensor& tensor, std::initializer_list<std::int64_t> shape) const;
  /// A list of numbers may have any shape of one dimension or none. Errors: it is no grid of that size.
  Result<void> check_grid(const StoredTensor& tensor, std::int64_t rows, std::int64_t columns) const;
  /// The group of each of k weights, I32 [k]; empty where they follow each other. Errors: a group that is not there.
  Result<std::vector<std::int32_t>> read_order(const StoredTensor& tensor, std::int64_t k, std::int64_t group) const;
  tl::unexpected<Error> refuse(const StoredTensor& tensor, std::string message) const;

  /// Puts one tensor in the place of several; those that are null are left out. The first holds the codes.
  /// Requires: `coded.n_rows` and `coded.k` agree with the sizes of the tensors.
  void join(std::string name, CodedTensor coded, std::initializer_list<const StoredTensor*> tensors);
  std::size_t n_joined() const { return joined_.size(); }

  /// All tensors, joined or not, in the place of those that were there.
  Result<void> put_back(Checkpoint& checkpoint) const;

 private:
  const Checkpoint& checkpoint_;
  std::vector<StoredTensor> joined_;
  std::set<std::string, std::less<>> used_;
};

/// Requires: a floating type.
NumberList numbers_in(const StoredTensor& tensor);

/// How many groups of `group` are in k numbers, the last may be shorter.
constexpr std::int64_t groups_in(std::int64_t k, std::int64_t group) { return k / group + (k % group != 0 ? 1 : 0); }

}  // namespace lathe::engine
