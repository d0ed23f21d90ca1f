// SPDX-License-Identifier: Apache-2.0
// Operators of the template language on values: arithmetic, comparison, membership, subscripts and slices.
#pragma once

#include <optional>
#include <string_view>

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

// All throw Failure where Python would raise.

Value arithmetic(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
Value negated(const Value& value);
/// +value, which takes numbers only.
Value as_it_is(const Value& value);
Value concatenated(Runtime& runtime, const Items& parts);
/// ==, !=, <, <=, >, >=, in, not in.
bool compared(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
bool contains(Runtime& runtime, const Value& container, const Value& item);

/// object[key]; Undefined where there is nothing.
Value subscript(Runtime& runtime, const Value& object, const Value& key);
/// object.name; Undefined where there is nothing.
Value attribute(Runtime& runtime, const Value& object, const std::string& name);
Value sliced(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);

/// The items that a loop goes over: of a list its items, of a dict its keys, of a text its characters.
Items items_of(Runtime& runtime, const Value& value);
std::int64_t n_characters(std::string_view text);
/// len(value); nothing when it has no length.
std::optional<std::int64_t> length_of(const Value& value);

/// Throws "'name' is undefined" for an Undefined.
void require_defined(const Value& value);

}  // namespace lathe::engine::jinja
