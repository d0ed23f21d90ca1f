// SPDX-License-Identifier: Apache-2.0
// The bytes of a GGUF file, value after value: right ones, and whatever a test wants wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lathe::tests {

class GgufBuilder {
 public:
  template <class T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text(std::string_view text) { return bytes_of<std::uint64_t>(text.size()) + std::string(text); }

  /// `value` as the file has it; the number of its type is the format's.
  GgufBuilder& value(std::string_view key, std::uint32_t type, const std::string& value) {
    values_ += text(key) + bytes_of(type) + value;
    ++n_values_;
    return *this;
  }
  GgufBuilder& value(std::string_view key, std::uint32_t number) { return value(key, 4, bytes_of(number)); }
  GgufBuilder& value(std::string_view key, float number) { return value(key, 6, bytes_of(number)); }
  GgufBuilder& value(std::string_view key, std::string_view words) { return value(key, 8, text(words)); }

  /// `shape` rows first; `offset` only where it is to be wrong.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::int64_t>& shape, std::uint32_t type,
                      std::string_view bytes, std::int64_t offset = -1) {
    tensors_ += text(name) + bytes_of(static_cast<std::uint32_t>(shape.size()));
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) tensors_ += bytes_of(*size);
    tensors_ += bytes_of(type) + bytes_of<std::uint64_t>(offset < 0 ? data_.size() : static_cast<std::uint64_t>(offset));
    data_ += bytes;
    pad(data_);
    ++n_tensors_;
    return *this;
  }

  std::string bytes(std::uint32_t version = 3) const { return head(version, n_tensors_, n_values_) + data_; }
  /// With counts that may be wrong.
  std::string head(std::uint32_t version, std::uint64_t n_tensors, std::uint64_t n_values) const {
    std::string all = "GGUF" + bytes_of(version) + bytes_of(n_tensors) + bytes_of(n_values) + values_ + tensors_;
    pad(all);
    return all;
  }

 private:
  static void pad(std::string& bytes) { bytes.resize((bytes.size() + 31) / 32 * 32, '\0'); }

  std::string values_, tensors_, data_;
  std::uint64_t n_values_ = 0, n_tensors_ = 0;
};

}  // namespace lathe::tests
