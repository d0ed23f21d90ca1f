// SPDX-License-Identifier: Apache-2.0
// Writes vectors as JSON: numbers that read back as the same float32, or base64 of little-endian float32.
// Source: RFC 4648, section 4; OpenAI's encoding_format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::app {

/// Returns "[0.25,-1e-05]".
std::string number_list(std::span<const float> vector);
/// Returns the base64 of the vector's bytes.
std::string base64_of(std::span<const float> vector);
/// Returns the text of an object with one more member at the end, whose value is `json`.
std::string with_member(const engine::OrderedJson& object, std::string_view name, std::string_view json);

}  // namespace lathe::app
