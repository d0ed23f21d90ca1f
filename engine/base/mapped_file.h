// SPDX-License-Identifier: Apache-2.0
// MappedFile: a memory-mapped file, whose bytes are read from the disk only when they are accessed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "engine/api/result.h"
#include "engine/base/byte_source.h"
#include "engine/base/file_descriptor.h"

namespace lathe::engine {

/// Owns: the file and its mapping. Thread: any.
class MappedFile final : public ByteSource {
 public:
  /// Maps the file and takes the descriptor, even on failure. `name` is for messages.
  /// Errors: model_refused when the file cannot be mapped.
  static Result<std::shared_ptr<const MappedFile>> map(int descriptor, std::string name);

  ~MappedFile() override;

  const std::string& name() const override { return name_; }
  std::span<const std::byte> bytes() const override { return {data_, n_bytes_}; }

  /// Whether the file still has all the bytes that were mapped: accessing a truncated part ends the process (SIGBUS).
  bool is_whole() const;
  bool prepare(std::span<const std::byte>) const override { return is_whole(); }

  /// Identifies the state of the file: device, inode, size, and the times of the last change of content (mtime) and of any
  /// change (ctime, which programs cannot set). Changes if the file is written or replaced.
  std::string stamp() const override;

  void will_need(std::span<const std::byte> part) const override;
  /// A later access reads the pages again.
  void drop(std::span<const std::byte> part) const override;

 private:
  MappedFile(FileDescriptor file, std::string name, const std::byte* data, std::size_t n_bytes)
      : file_(std::move(file)), name_(std::move(name)), data_(data), n_bytes_(n_bytes) {}

  FileDescriptor file_;
  std::string name_;
  const std::byte* data_ = nullptr;
  std::size_t n_bytes_ = 0;
};

}  // namespace lathe::engine
