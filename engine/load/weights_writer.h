// SPDX-License-Identifier: Apache-2.0
// WeightsWriter: writes one weights file sequentially: a header, then tensor after tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"
#include "kernels/api/dtype.h"

namespace lathe::engine {

struct StoredType;

struct WrittenTensor {
  std::string name;
  kernels::Dtype dtype = kernels::Dtype::f32;
  std::vector<std::int64_t> shape;
  const StoredType* blocks = nullptr;  ///< block type of a GGUF tensor, used instead of `dtype`
  std::size_t n_bytes() const;
};

/// Owns: the open file.
class WeightsWriter {
 public:
  /// Creates the file and writes the header; the tensors' bytes must follow in this order. After the header, each tensor is
  /// padded to a multiple of `alignment`. Errors: resource_exhausted with the system's text; also when the file exists
  /// already.
  static Result<WeightsWriter> create(const std::string& path, std::string_view header,
                                      std::span<const WrittenTensor> tensors, std::size_t alignment);
  /// Appends bytes of the current tensor. Requires: no more bytes than the tensor still needs.
  Result<void> write(std::span<const std::byte> bytes);
  /// Flushes the file to the disk (fsync). Requires: every byte has been written.
  Result<void> finish();

 private:
  Result<void> put(std::span<const std::byte> bytes);
  Result<void> end_tensors();

  FileDescriptor file_;
  std::string path_;
  std::vector<std::size_t> sizes_;  ///< bytes of each tensor
  std::size_t tensor_ = 0;          ///< index of the tensor being written
  std::size_t written_ = 0;         ///< bytes of that tensor written so far
  std::size_t alignment_ = 1;
};

}  // namespace lathe::engine
