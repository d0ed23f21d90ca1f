// SPDX-License-Identifier: Apache-2.0
// Operators of the template language on values: arithmetic, comparison, membership, subscripts and slices.
#pragma once

#include <optional>
#include <string_view>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

// These functions throw Failure where Python would raise.

Value arithmetic(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
Value negated(const Value& value);
/// Returns +value; only numbers are allowed.
Value as_it_is(const Value& value);
Value concatenated(Runtime& runtime, const Items& parts);
/// Evaluates ==, !=, <, <=, >, >=, in and not in.
bool compared(Runtime& runtime, std::string_view op, const Value& left, const Value& right);
bool contains(Runtime& runtime, const Value& container, const Value& item);

/// Returns object[key]; Undefined if it does not exist.
Value subscript(Runtime& runtime, const Value& object, const Value& key);
/// Returns object.name; Undefined if it does not exist.
Value attribute(Runtime& runtime, const Value& object, const std::string& name);
Value sliced(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);

/// Returns the items of a loop over `value`: the items of a list, the keys of a dict, the characters of a text.
Items items_of(Runtime& runtime, const Value& value);
std::int64_t n_characters(std::string_view text);
/// Returns len(value); nothing if the value has no length.
std::optional<std::int64_t> length_of(const Value& value);

/// Throws Failure "'name' is undefined" for an Undefined.
void require_defined(const Value& value);

}  // namespace lathe::engine::jinja
