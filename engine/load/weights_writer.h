// SPDX-License-Identifier: Apache-2.0
// WeightsWriter: one file of weights, from front to back: a header, then tensor after tensor.
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
  const StoredType* blocks = nullptr;  ///< of a GGUF file: the type in place of `dtype`, whose blocks rows are made of
  std::size_t n_bytes() const;
};

/// Owns: the open file.
class WeightsWriter {
 public:
  /// Writes the header; the tensors' bytes are to follow in this order. Each begins at a multiple of `alignment` behind the
  /// header, and so does the end. Errors: resource_exhausted, with what the system says; also when the file is there
  /// already.
  static Result<WeightsWriter> create(const std::string& path, std::string_view header,
                                      std::span<const WrittenTensor> tensors, std::size_t alignment);
  /// Requires: no more than what is left of the tensor.
  Result<void> write(std::span<const std::byte> bytes);
  /// Requires: every byte has been written. Hands them to the disk.
  Result<void> finish();

 private:
  Result<void> put(std::span<const std::byte> bytes);
  Result<void> end_tensors();

  FileDescriptor file_;
  std::string path_;
  std::vector<std::size_t> sizes_;  ///< of the tensors
  std::size_t tensor_ = 0;          ///< that is being written
  std::size_t written_ = 0;         ///< bytes of it
  std::size_t alignment_ = 1;
};

}  // namespace lathe::engine
