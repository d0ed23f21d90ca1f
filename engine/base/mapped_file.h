// SPDX-License-Identifier: Apache-2.0
// MappedFile: the bytes of a file, read only when they are touched.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"

namespace lathe::engine {

/// Owns: the file and its mapping. Thread: any.
class MappedFile {
 public:
  /// Takes the descriptor, whatever happens. `name` goes into messages.
  /// Errors: model_refused when the file cannot be mapped.
  static Result<std::shared_ptr<const MappedFile>> map(int descriptor, std::string name);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return {data_, n_bytes_}; }

  /// Whether the file still has all the bytes that were mapped: touching one that it has lost ends the process.
  bool is_whole() const;

  /// Differs from an earlier one if the file was written to, or is another: device, number, size, and the times of the last
  /// change of content and of anything else, which the system alone sets.
  std::string stamp() const;

  /// Asks for the pages of `part` ahead of their use. Requires: part lies in bytes().
  void will_need(std::span<const std::byte> part) const;
  /// Gives the whole pages inside `part` back to the system; touching them later reads them again.
  void drop(std::span<const std::byte> part) const;

 private:
  MappedFile(FileDescriptor file, std::string name, const std::byte* data, std::size_t n_bytes)
      : file_(std::move(file)), name_(std::move(name)), data_(data), n_bytes_(n_bytes) {}

  FileDescriptor file_;
  std::string name_;
  const std::byte* data_ = nullptr;
  std::size_t n_bytes_ = 0;
};

}  // namespace lathe::engine
