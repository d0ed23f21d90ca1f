// SPDX-License-Identifier: Apache-2.0
// IdSource: random ids for answers, which cannot be guessed and do not repeat.
#pragma once

#include <mutex>
#include <random>
#include <string>

namespace lathe::app {

/// Thread: any.
class IdSource {
 public:
  /// Returns 32 hexadecimal digits.
  std::string next() {
    constexpr char digits[] = "0123456789abcdef";
    std::string id(32, '0');
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < id.size(); i += 8) {
      auto bits = device_();
      for (std::size_t j = i; j < i + 8; ++j, bits >>= 4) id[j] = digits[bits & 15u];
    }
    return id;
  }

 private:
  std::mutex mutex_;
  std::random_device device_;
};

}  // namespace lathe::app
