// SPDX-License-Identifier: Apache-2.0
#include "engine/load/weights_writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "engine/load/checkpoint.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  return fail(ErrorCode::resource_exhausted, fmt::format("{}: {}", what, std::strerror(errno)), path);
}

}  // namespace

std::size_t WrittenTensor::n_bytes() const {
  if (blocks != nullptr) {
    std::int64_t numbers = 1;
    for (const std::int64_t dim : shape) numbers *= dim;
    return static_cast<std::size_t>(numbers / blocks->block * (blocks->bits / 8));
  }
  std::size_t n = size_of(dtype);
  for (const std::int64_t dim : shape) n *= static_cast<std::size_t>(dim);
  return n;
}

Result<WeightsWriter> WeightsWriter::create(const std::string& path, std::string_view header,
                                            std::span<const WrittenTensor> tensors, std::size_t alignment) {
  WeightsWriter writer;
  writer.path_ = path;
  writer.alignment_ = alignment;
  for (const WrittenTensor& tensor : tensors) writer.sizes_.push_back(tensor.n_bytes());
  writer.file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!writer.file_) return system_error("cannot be created", path);
  LATHE_TRY_VOID(writer.put(std::as_bytes(std::span(header))));
  LATHE_TRY_VOID(writer.end_tensors());
  return writer;
}

Result<void> WeightsWriter::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  LATHE_CHECK(tensor_ < sizes_.size() && bytes.size() <= sizes_[tensor_] - written_);
  LATHE_TRY_VOID(put(bytes));
  written_ += bytes.size();
  return end_tensors();
}

/// Advances over complete tensors, empty ones included, and writes their padding.
Result<void> WeightsWriter::end_tensors() {
  while (tensor_ < sizes_.size() && written_ == sizes_[tensor_]) {
    const std::vector<std::byte> padding((alignment_ - written_ % alignment_) % alignment_);
    LATHE_TRY_VOID(put(padding));
    ++tensor_;
    written_ = 0;
  }
  return {};
}

Result<void> WeightsWriter::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot be written", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> WeightsWriter::finish() {
  LATHE_CHECK(tensor_ == sizes_.size());
  if (::fsync(file_.get()) != 0) return system_error("cannot be written", path_);
  return {};
}

}  // namespace lathe::engine
