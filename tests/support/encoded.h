// SPDX-License-Identifier: Apache-2.0
// The ids of a text that a tokenizer must be able to encode.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/tokenizer.h"
#include "kernels/api/check.h"

namespace lathe::tests {

inline std::vector<std::int32_t> encoded(const engine::Tokenizer& tokenizer, std::string_view text, bool add_special,
                                         bool parse_special) {
  auto ids = tokenizer.encode(text, add_special, parse_special);
  LATHE_CHECK(ids.has_value());
  return std::move(*ids);
}

inline std::vector<std::int32_t> encoded(const engine::Tokenizer& tokenizer, std::span<const engine::TextSpan> spans) {
  auto ids = tokenizer.encode_spans(spans);
  LATHE_CHECK(ids.has_value());
  return std::move(*ids);
}

}  // namespace lathe::tests
