// SPDX-License-Identifier: Apache-2.0
#include "engine/packed/packed_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/base/file_descriptor.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".packed";
constexpr std::string_view kUnfinished = ".unfinished-";
// A writer locks its file right after creating it: a younger unlocked file may be about to be locked.
constexpr std::chrono::minutes kLeftover{1};
// Divisor: the cache may fill a quarter of the disk space that is free or used by entries.
constexpr std::int64_t kShareOfDisk = 4;

tl::unexpected<Error> trouble(std::string_view what, const std::string& path) {
  return fail(ErrorCode::resource_exhausted, fmt::format("{}: {}", what, std::strerror(errno)), path);
}

struct Entry {
  fs::path path;
  fs::file_time_type used;
  std::int64_t n_bytes;
};

/// All entries, the least recently used first. Skips entries that another process removes meanwhile.
std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    std::error_code gone;
    const Entry entry{file->path(), file->last_write_time(gone), static_cast<std::int64_t>(file->file_size(gone))};
    if (!gone && entry.path.extension() == kEnding) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return entries;
}

/// A temporary file that is either renamed to its final path or removed.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& folder) : path_(folder + "/" + std::string(kUnfinished) + "XXXXXX") {
    file_ = FileDescriptor(::mkostemp(path_.data(), O_CLOEXEC));
    if (file_) ::flock(file_.get(), LOCK_EX | LOCK_NB);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (file_) ::unlink(path_.c_str());
  }
  int get() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  bool take_place(const std::string& path) {
    if (std::rename(path_.c_str(), path.c_str()) != 0) return false;
    file_ = FileDescriptor();
    return true;
  }

 private:
  std::string path_;
  FileDescriptor file_;
};

void make_zero(const WeightImage& image, kernels::Backend& backend) {
  backend.parallel_for(static_cast<std::int64_t>(image.size()), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      std::memset(image[i].data(), 0, image[i].size());
    }
  });
}

}  // namespace

std::string PackedCache::path_of(const ContentHash& key) const {
  return (fs::path(folder_.path) / (to_string(key) + std::string(kEnding))).string();
}

Result<bool> PackedCache::load(const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                               const PackedObserver& observer) const {
  const std::string path = path_of(key);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return false;
  Result<void> read = read_entry(file.get(), key, image, backend, observer);
  if (read) {
    ::futimens(file.get(), nullptr);  // marks the entry as used; a failure only makes its removal earlier
    return true;
  }
  if (read.error().code == ErrorCode::cancelled) return tl::unexpected<Error>(std::move(read.error()));
  make_zero(image, backend);
  ::unlink(path.c_str());
  return fail(ErrorCode::model_refused, std::move(read.error().message), path);
}

Result<void> PackedCache::store(const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                                const PackedObserver& observer) const {
  std::error_code error;
  fs::create_directories(folder_.path, error);
  if (error) return fail(ErrorCode::resource_exhausted, fmt::format("cannot be created: {}", error.message()), folder_.path);
  remove_leftovers();
  LATHE_TRY_VOID(make_room(entry_bytes(image)));
  UnfinishedFile file(folder_.path);
  if (!file) return trouble("cannot be written", folder_.path);
  if (Result<void> written = write_entry(file.get(), key, image, backend, observer); !written) {
    written.error().where = folder_.path;
    return written;
  }
  if (!file.take_place(path_of(key))) return trouble("cannot be renamed", path_of(key));
  return {};
}

Result<void> PackedCache::make_room(std::int64_t n_bytes) const {
  std::error_code error;
  const fs::space_info disk = fs::space(folder_.path, error);
  if (error) return fail(ErrorCode::resource_exhausted, error.message(), folder_.path);
  std::int64_t held = 0;
  const std::vector<Entry> entries = entries_of(folder_.path);
  for (const Entry& entry : entries) held += entry.n_bytes;
  const std::int64_t limit = std::min(folder_.max_bytes, (static_cast<std::int64_t>(disk.available) + held) / kShareOfDisk);
  if (n_bytes > limit) {
    return fail(ErrorCode::resource_exhausted,
                fmt::format("{} MB do not fit into the cache, which may hold {} MB (the smaller of {} MB and a quarter of "
                            "the free disk space)",
                            n_bytes / 1'000'000, limit / 1'000'000, folder_.max_bytes / 1'000'000),
                folder_.path);
  }
  for (const Entry& entry : entries) {
    if (held + n_bytes <= limit) break;
    fs::remove(entry.path, error);
    held -= entry.n_bytes;
  }
  return {};
}

/// Removes temporary files of killed writers: no process holds a lock on them.
void PackedCache::remove_leftovers() const {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator file(folder_.path, error), end; !error && file != end; file.increment(error)) {
    std::error_code gone;
    if (!file->path().filename().string().starts_with(kUnfinished)) continue;
    if (now - file->last_write_time(gone) < kLeftover || gone) continue;
    const FileDescriptor descriptor(::open(file->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor && ::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(file->path().c_str());
  }
}

}  // namespace lathe::engine
