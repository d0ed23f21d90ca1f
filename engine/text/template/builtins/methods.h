// SPDX-License-Identifier: Apache-2.0
// Methods of texts, lists and dicts, under Python's names. Lists and dicts cannot be changed by a template.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

struct NamedMethod {
  std::string_view name;
  Method method;
};

/// Returns null if values of this kind have no such method.
Method find_method(const Value& object, std::string_view name);
/// Returns the method as a callable value.
std::optional<Value> bound_method(const Value& object, const std::string& name);

/// Returns the argument as a text. Throws Failure if it is missing or not a text.
const MarkedText& text_argument(const Arguments& arguments, std::size_t index, std::string_view name);
std::int64_t integer_argument(const Arguments& arguments, std::size_t index, std::string_view name, std::int64_t fallback);
bool flag_argument(const Arguments& arguments, std::size_t index, std::string_view name, bool fallback);

}  // namespace lathe::engine::jinja
