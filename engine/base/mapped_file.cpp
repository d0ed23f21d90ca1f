// SPDX-License-Identifier: Apache-2.0
#include "engine/base/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kernels/api/check.h"

namespace lathe::engine {

namespace {

enum class Rounding { outward, inward };

/// Calls madvise on the pages that `part` touches (outward) or fills completely (inward).
void advise(std::span<const std::byte> part, Rounding rounding, int advice) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  auto end = begin + part.size();
  begin = (rounding == Rounding::outward ? begin : begin + page - 1) / page * page;
  end = (rounding == Rounding::outward ? end + page - 1 : end) / page * page;
  // Ignored advice costs speed or memory, never correctness.
  if (begin < end) static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, advice));
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int descriptor, std::string name) {
  FileDescriptor file(descriptor);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return fail(ErrorCode::model_refused, std::string("cannot be read: ") + std::strerror(errno), name);
  }
  const auto n_bytes = static_cast<std::size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (n_bytes > 0) {  // mmap refuses a length of zero
    void* mapped = ::mmap(nullptr, n_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) {
      return fail(ErrorCode::model_refused, std::string("cannot be mapped: ") + std::strerror(errno), name);
    }
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(std::move(file), std::move(name), data, n_bytes));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), n_bytes_);
}

bool MappedFile::is_whole() const {
  struct stat status{};
  return ::fstat(file_.get(), &status) == 0 && static_cast<std::size_t>(status.st_size) >= n_bytes_;
}

std::string MappedFile::stamp() const {
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return {};
  return fmt::format("{}:{} {} {}.{:09} {}.{:09}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

void MappedFile::will_need(std::span<const std::byte> part) const {
  LATHE_DCHECK(part.empty() || (part.data() >= data_ && part.data() + part.size() <= data_ + n_bytes_));
  advise(part, Rounding::outward, MADV_WILLNEED);
}

void MappedFile::drop(std::span<const std::byte> part) const {
  LATHE_DCHECK(part.empty() || (part.data() >= data_ && part.data() + part.size() <= data_ + n_bytes_));
  advise(part, Rounding::inward, MADV_DONTNEED);
}

}  // namespace lathe::engine
