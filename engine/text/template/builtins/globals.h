// SPDX-License-Identifier: Apache-2.0
// Functions that every template can call.
#pragma once

#include <optional>
#include <string_view>

#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

std::optional<Value> global_function(std::string_view name);

/// Fills the dict of dict() and namespace() from their arguments: a dict or pairs, and named entries. Throws Failure for
/// others.
void fill_dict(Runtime& runtime, DictObject& dict, const Arguments& arguments);

}  // namespace lathe::engine::jinja
