// SPDX-License-Identifier: Apache-2.0
// ByteSource: an input taken apart into numbers, choices and texts, so that a target can build from it what bare bytes would
// hardly ever be. Empty it gives zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace lathe::fuzz {

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteSource {
 public:
  explicit ByteSource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool is_empty() const { return bytes_.empty(); }

  template <class T>
  T number() {
    T value{};
    const auto taken = take(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

  std::size_t below(std::size_t n) { return n == 0 ? 0 : number<std::uint16_t>() % n; }

  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

  /// Small ones mostly; at times one that products overflow with.
  std::int64_t size() {
    const auto kind = number<std::uint8_t>();
    if (kind < 200) return number<std::uint8_t>() % 16;
    if (kind < 240) return number<std::uint16_t>();
    return number<std::int64_t>();
  }

  std::string text() { return std::string(text_of(take(number<std::uint8_t>()))); }
  std::span<const std::byte> rest() { return take(bytes_.size()); }

 private:
  std::span<const std::byte> take(std::size_t n) {
    const auto taken = bytes_.first(std::min(n, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace lathe::fuzz
