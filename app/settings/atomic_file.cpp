// SPDX-License-Identifier: Apache-2.0
#include "app/settings/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace lathe::app {
namespace {

using engine::Result;

tl::unexpected<engine::Error> failed(const char* what, const std::string& path) {
  return engine::fail(engine::ErrorCode::internal, fmt::format("{}: {}", what, std::generic_category().message(errno)),
                      path);
}

/// Owns: a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close_now() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Result<void> write_synced(const std::string& path, std::string_view content) {
  // Mode 0600: the settings contain the API key.
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0) return failed("cannot create the file", path);
  while (!content.empty()) {
    const ssize_t n = ::write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot write the file", path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) return failed("cannot write the file to the disk", path);
  if (!file.close_now()) return failed("cannot close the file", path);
  return {};
}

}  // namespace

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  if (Result<void> written = write_synced(fresh, content); !written) {
    ::unlink(fresh.c_str());
    return written;
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    auto error = failed("cannot replace the file", path);
    ::unlink(fresh.c_str());
    return error;
  }
  // Errors are ignored: some file systems cannot sync a folder, and the content itself is already on the disk.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const Descriptor directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
  return {};
}

}  // namespace lathe::app
