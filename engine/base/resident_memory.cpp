// SPDX-License-Identifier: Apache-2.0
#include "engine/base/resident_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include "engine/api/memory_use.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kKibibyte = 1024;

/// The value in bytes of a line "key   number kB".
std::optional<std::int64_t> kibibytes_behind(const std::string& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t number = 0;
    if (words >> name && name == key && words >> number) return number * kKibibyte;
  }
  return std::nullopt;
}

}  // namespace

/// Reading smaps_rollup makes the kernel walk all pages. Not every system has the file.
std::optional<std::int64_t> anonymous_bytes(const std::string& root) {
  const auto exact = kibibytes_behind(root + "/proc/self/smaps_rollup", "Anonymous:");
  return exact ? exact : counted_anonymous_bytes(root);
}

std::optional<std::int64_t> counted_anonymous_bytes(const std::string& root) {
  return kibibytes_behind(root + "/proc/self/status", "RssAnon:");
}

std::optional<std::int64_t> resident_bytes(std::span<const std::byte> piece) {
  constexpr std::size_t kPagesAtOnce = 4096;
  std::array<unsigned char, kPagesAtOnce> is_resident{};
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(piece.data()), end = begin + piece.size();
  std::int64_t sum = 0;
  for (std::uintptr_t at = begin / page * page; at < end; at += kPagesAtOnce * page) {
    const std::uintptr_t n_bytes = std::min(end - at, kPagesAtOnce * page);
    if (::mincore(reinterpret_cast<void*>(at), n_bytes, is_resident.data()) != 0) return std::nullopt;
    for (std::uintptr_t offset = 0; offset < n_bytes; offset += page) {
      if ((is_resident[offset / page] & 1U) == 0) continue;
      sum += static_cast<std::int64_t>(std::min(at + offset + page, end) - std::max(at + offset, begin));
    }
  }
  return sum;
}

std::optional<std::int64_t> process_memory_bytes() { return counted_anonymous_bytes(); }

}  // namespace lathe::engine
