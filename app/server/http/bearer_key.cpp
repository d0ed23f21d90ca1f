// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/bearer_key.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace lathe::app::http {

BearerKey::BearerKey(std::string_view key) : hash_(hash_of(key)), required_(!key.empty()) {}

BearerKey::Hash BearerKey::hash_of(std::string_view text) {
  Hash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

bool BearerKey::is_key(std::string_view text) const {
  const Hash hash = hash_of(text);
  return CRYPTO_memcmp(hash.data(), hash_.data(), hash.size()) == 0;
}

bool BearerKey::admits(const RequestHead& head) const {
  if (!required_) return true;
  if (const auto keys = head.values("x-api-key"); keys.size() == 1 && is_key(keys.front())) return true;
  const auto given = head.values("Authorization");
  if (given.size() != 1) return false;
  // The case of the scheme does not matter (RFC 9110, 11.1), that of the key does.
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view value = given.front();
  if (value.size() <= scheme.size() || !equal_ignoring_case(value.substr(0, scheme.size()), scheme)) return false;
  return is_key(value.substr(scheme.size()));
}

}  // namespace lathe::app::http
