// SPDX-License-Identifier: Apache-2.0
// Texts of JSON objects that files of a checkpoint may leave out.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::engine {

/// Returns the text under `key`; empty where `object` has none, or is no object.
inline std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace lathe::engine
