// SPDX-License-Identifier: Apache-2.0
// SafetensorsWriter: one safetensors file, tensor after tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"
#include "kernels/api/dtype.h"

namespace lathe::engine {

struct SafetensorsTensor {
  std::string name;
  kernels::Dtype dtype = kernels::Dtype::f32;
  std::vector<std::int64_t> shape;
  std::size_t n_bytes() const;
};

/// Owns: the open file.
class SafetensorsWriter {
 public:
  /// Writes the header; the tensors' bytes are to follow in this order. Errors: resource_exhausted, with what the system says.
  static Result<SafetensorsWriter> create(const std::string& path, std::span<const SafetensorsTensor> tensors);
  Result<void> write(std::span<const std::byte> bytes);
  /// Requires: every byte has been written. Hands them to the disk.
  Result<void> finish();

 private:
  FileDescriptor file_;
  std::string path_;
  std::uint64_t n_left_ = 0;
};

}  // namespace lathe::engine
