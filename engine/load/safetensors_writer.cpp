// SPDX-License-Identifier: Apache-2.0
#include "engine/load/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "engine/api/json.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kAlignment = 64;

std::string_view stored_name(kernels::Dtype dtype) {
  switch (dtype) {
    case kernels::Dtype::f16: return "F16";
    case kernels::Dtype::bf16: return "BF16";
    default: return "F32";
  }
}

/// Padded with blanks, so that the tensors begin at a multiple of 64.
std::string header_of(std::span<const SafetensorsTensor> tensors) {
  OrderedJson header = {{"__metadata__", {{"format", "pt"}}}};
  std::size_t begin = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::size_t end = begin + tensor.n_bytes();
    header[tensor.name] = {
        {"dtype", stored_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = dump_json(header);
  while ((sizeof(std::uint64_t) + text.size()) % kAlignment != 0) text.push_back(' ');
  return text;
}

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  return fail(ErrorCode::resource_exhausted, fmt::format("{}: {}", what, std::strerror(errno)), path);
}

}  // namespace

std::size_t SafetensorsTensor::n_bytes() const {
  std::size_t n = size_of(dtype);
  for (const std::int64_t dim : shape) n *= static_cast<std::size_t>(dim);
  return n;
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path, std::span<const SafetensorsTensor> tensors) {
  SafetensorsWriter writer;
  writer.path_ = path;
  writer.file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!writer.file_) return system_error("cannot be made", path);
  const std::string header = header_of(tensors);
  const std::uint64_t length = header.size();
  writer.n_left_ = sizeof length + header.size();
  for (const SafetensorsTensor& tensor : tensors) writer.n_left_ += tensor.n_bytes();
  LATHE_TRY_VOID(writer.write(std::as_bytes(std::span(&length, 1))));
  LATHE_TRY_VOID(writer.write(std::as_bytes(std::span(header))));
  return writer;
}

Result<void> SafetensorsWriter::write(std::span<const std::byte> bytes) {
  LATHE_CHECK(bytes.size() <= n_left_);
  n_left_ -= bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot be written", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> SafetensorsWriter::finish() {
  LATHE_CHECK(n_left_ == 0);
  if (::fsync(file_.get()) != 0) return system_error("cannot be written", path_);
  return {};
}

}  // namespace lathe::engine
