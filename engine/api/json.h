// SPDX-License-Identifier: Apache-2.0
// JSON for engine and app: the only file that includes the JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

struct JsonLimits {
  int max_depth = 128;
  std::size_t max_nodes = 1'000'000;
};

/// Strict parse: UTF-8 only, no duplicate keys, no NaN, bounded depth and size.
/// Errors: invalid_argument with the byte offset; `where` is `name`.
Result<Json> parse_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});
/// As parse_json(), but objects keep the order of their keys, in which templates print them.
Result<OrderedJson> parse_ordered_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// Text of a value. Never throws: invalid UTF-8 becomes U+FFFD, non-finite numbers become null.
std::string dump_json(const Json& json, int indent = -1);
std::string dump_json(const OrderedJson& json, int indent = -1);

}  // namespace lathe::engine
