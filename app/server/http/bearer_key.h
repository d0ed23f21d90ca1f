// SPDX-License-Identifier: Apache-2.0
// BearerKey: the secret that requests must carry as "Authorization: Bearer <key>" or as "x-api-key: <key>".
#pragma once

#include <array>
#include <string_view>

#include "app/server/http/message.h"

namespace lathe::app::http {

/// Stores only a SHA-256 of the key and compares hashes in constant time, so that timing reveals nothing about the key.
class BearerKey {
 public:
  explicit BearerKey(std::string_view key);  ///< empty: every request is admitted
  bool required() const { return required_; }
  /// True if no key is required, or if the request carries exactly one x-api-key or Authorization field with this key.
  bool admits(const RequestHead& head) const;

 private:
  using Hash = std::array<unsigned char, 32>;
  static Hash hash_of(std::string_view text);
  bool is_key(std::string_view text) const;
  Hash hash_{};
  bool required_ = false;
};

}  // namespace lathe::app::http
