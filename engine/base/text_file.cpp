// SPDX-License-Identifier: Apache-2.0
#include "engine/base/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace lathe::engine {

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const std::string name = std::filesystem::path(path).filename().string();
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    const auto code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::model_refused;
    return fail(code, fmt::format("cannot open: {}", std::strerror(errno)), name);
  }
  return read_text_file(file, name, max_bytes);
}

Result<std::string> read_text_file(const FileDescriptor& file, const std::string& name, std::size_t max_bytes) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::model_refused, "not a regular file", name);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes)
    return fail(ErrorCode::model_refused, fmt::format("it has {} bytes, at most {} are read", size, max_bytes), name);
  std::string text(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.get(), text.data() + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::model_refused, fmt::format("only {} of {} bytes could be read", done, size), name);
    done += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace lathe::engine
