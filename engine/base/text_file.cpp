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
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const std::string name = std::filesystem::path(path).filename().string();
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) {
    const auto code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::model_refused;
    return fail(code, fmt::format("cannot open: {}", std::strerror(errno)), name);
  }
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::model_refused, "not a regular file", name);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes) {
    return fail(ErrorCode::model_refused, fmt::format("{} bytes, more than the {} allowed", size, max_bytes), name);
  }
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.number(), text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::model_refused, fmt::format("only {} of {} bytes could be read", done, size), name);
    done += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace lathe::engine
