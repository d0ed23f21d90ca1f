// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/percent_format.h"
#include "engine/text/template/builtins/text_search.h"
#include "engine/text/template/runtime/to_text.h"
#include "engine/text/template/runtime/whole_number.h"

namespace lathe::engine::jinja {

void require_defined(const Value& value) {
  const Undefined* undefined = value.as<Undefined>();
  if (undefined == nullptr) return;
  throw Failure(undefined->name ? fmt::format("\"{}\" is undefined", printable_excerpt(*undefined->name))
                                : "a value is undefined");
}

namespace {

constexpr std::string_view kTooLong =
    "whole numbers of more than 64 bits can be printed and compared, but not calculated with";

[[noreturn]] void refuse_operands(std::string_view op, const Value& left, const Value& right) {
  require_defined(left);
  require_defined(right);
  throw Failure(fmt::format("cannot use {} on {} and {}", op, type_name(left), type_name(right)));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  std::int64_t out = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(out, base, &out)) return std::nullopt;
    if (out == 0 || (out == 1 && base == 1)) break;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  }
  return out;
}

Value real_power(double base, double exponent) {
  if (base == 0 && exponent < 0) throw Failure("0 cannot be raised to a negative power");
  const double out = std::pow(base, exponent);
  if (std::isfinite(base) && std::isfinite(exponent) && !std::isfinite(out)) throw Failure("a power is not a finite number");
  return Value(out);
}

Value integer_arithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool overflow = false;
  if ((op == "/" || op == "//" || op == "%") && b == 0) throw Failure("division by zero");
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &out);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &out);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &out);
  } else if (op == "/") {
    return Value(static_cast<double>(a) / static_cast<double>(b));
  } else if (b == -1 && op != "**") {  // the one quotient that can overflow
    overflow = op == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &out);
  } else if (op == "//") {
    out = floor_divide(a, b);
  } else if (op == "%") {
    out = a % b;  // not computed from the quotient, whose product with b may overflow
    if (out != 0 && (out < 0) != (b < 0)) out += b;
  } else if (b < 0) {
    return real_power(static_cast<double>(a), static_cast<double>(b));
  } else {
    const auto result = power(a, b);
    overflow = !result;
    out = result.value_or(0);
  }
  if (overflow) throw Failure("a whole number does not fit into 64 bits");
  return Value(out);
}

Value float_arithmetic(std::string_view op, double a, double b) {
  if ((op == "/" || op == "//" || op == "%") && b == 0) throw Failure("division by zero");
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "/") return Value(a / b);
  if (op == "//" || op == "%") {
    double rest = std::fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    if (op == "%") return Value(rest == 0 ? std::copysign(0.0, b) : rest);
    return Value(std::round((a - rest) / b));
  }
  return real_power(a, b);
}

Value repeated(Runtime& runtime, const Value& value, std::int64_t times) {
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(0, times));
  if (const MarkedText* text = value.as_text()) {
    if (text->empty() || n == 0) return Value::text("");
    if (n > runtime.limits().max_text_bytes / text->size()) runtime.charge_text(runtime.limits().max_text_bytes + 1);
    runtime.charge_text(text->size() * n);
    MarkedText out;
    for (std::size_t i = 0; i < n; ++i) out.append(*text);
    return Value(std::move(out));
  }
  const Items& items = value.as_list()->items;
  if (!items.empty() && n > static_cast<std::size_t>(runtime.limits().max_range)) throw Failure("a list grows too long");
  runtime.charge(4 * items.size() * n);
  Items out;
  for (std::size_t i = 0; i < n && !items.empty(); ++i) out.insert(out.end(), items.begin(), items.end());
  return value.as_list()->is_tuple ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

/// Evaluates `+` and `*` of texts and lists; returns nothing for other operands.
std::optional<Value> sequence_arithmetic(Runtime& runtime, std::string_view op, const Value& left, const Value& right) {
  if (op == "*") {
    if ((left.as_text() || left.as_list()) && right.as_integer()) return repeated(runtime, left, *right.as_integer());
    if ((right.as_text() || right.as_list()) && left.as_integer()) return repeated(runtime, right, *left.as_integer());
  }
  if (op != "+") return std::nullopt;
  if (left.as_text() && right.as_text()) return concatenated(runtime, {left, right});
  const ListObject *a = left.as_list(), *b = right.as_list();
  if (a == nullptr || b == nullptr || a->is_tuple != b->is_tuple) return std::nullopt;
  runtime.charge(4 * (a->items.size() + b->items.size()));
  Items out = a->items;
  out.insert(out.end(), b->items.begin(), b->items.end());
  return a->is_tuple ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

}  // namespace

Value arithmetic(Runtime& runtime, std::string_view op, const Value& left, const Value& right) {
  if (const auto a = left.as_integer(), b = right.as_integer(); a && b) return integer_arithmetic(op, *a, *b);
  if (left.is_whole() && right.is_whole()) throw Failure(std::string(kTooLong));
  if (const auto a = left.as_number(), b = right.as_number(); a && b) return float_arithmetic(op, *a, *b);
  if (auto out = sequence_arithmetic(runtime, op, left, right)) return std::move(*out);
  if (op == "%" && left.as_text()) return percent_formatted(runtime, *left.as_text(), right);
  refuse_operands(op, left, right);
}

Value negated(const Value& value) {
  if (value.is_whole()) {
    const std::string digits = value.as_long() != nullptr ? *value.as_long() : fmt::format("{}", *value.as_integer());
    return Value::whole(*whole_digits(digits.starts_with('-') ? digits.substr(1) : "-" + digits));
  }
  if (const auto number = value.as_number()) return Value(-*number);
  require_defined(value);
  throw Failure(fmt::format("cannot negate {}", type_name(value)));
}

Value as_it_is(const Value& value) {
  if (const auto integer = value.as_integer()) return Value(*integer);
  if (value.as_number()) return value;
  require_defined(value);
  throw Failure(fmt::format("cannot use + on {}", type_name(value)));
}

Value concatenated(Runtime& runtime, const Items& parts) {
  MarkedText out;
  for (const Value& part : parts) {
    const MarkedText* text = part.as_text();
    const MarkedText made = text == nullptr ? to_text(runtime, part) : MarkedText();
    if (text == nullptr) text = &made;
    runtime.charge_growth(out.size(), text->size());
    out.append(*text);
  }
  return Value(std::move(out));
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_undefined()) return false;
  if (const MarkedText* text = container.as_text()) {
    const MarkedText* part = item.as_text();
    if (part == nullptr) refuse_operands("in", item, container);
    runtime.charge(1 + (text->size() + part->size()) / 16);
    return find_part(text->text(), part->text()) != std::string::npos;
  }
  if (const ListObject* list = container.as_list()) {
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& other) { return equal(runtime, other, item); });
  }
  if (const DictObject* dict = container.as_dict(); dict != nullptr && dict->is_dict()) {
    return dict->find(runtime, item) != nullptr;
  }
  refuse_operands("in", item, container);
}

bool compared(Runtime& runtime, std::string_view op, const Value& left, const Value& right) {
  runtime.charge();
  if (op == "==") return equal(runtime, left, right);
  if (op == "!=") return !equal(runtime, left, right);
  if (op == "in") return contains(runtime, right, left);
  if (op == "not in") return !contains(runtime, right, left);
  require_defined(left);
  require_defined(right);
  const std::partial_ordering order = compare(runtime, left, right);
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// Returns the offsets at which the characters of a text begin, and the text's end.
std::vector<std::size_t> character_offsets(const std::string& text) {
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i])) offsets.push_back(i);
  }
  offsets.push_back(text.size());
  return offsets;
}

/// Returns whether jinja2 slices by this value; for other types it returns Undefined.
bool is_slice_bound(const Value& value) { return value.is_none() || value.as_integer() || value.is_undefined(); }

/// Returns Python's indices of a slice over n items.
std::vector<std::size_t> slice_indices(std::int64_t n, const Value& start, const Value& stop, const Value& step_value) {
  const auto part = [](const Value& value) -> std::optional<std::int64_t> {
    if (value.is_none()) return std::nullopt;
    require_defined(value);
    return value.as_integer();
  };
  const std::int64_t step = part(step_value).value_or(1);
  if (step == 0) throw Failure("a slice cannot have the step 0");
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto clamp = [&](std::optional<std::int64_t> value, std::int64_t fallback) {
    if (!value) return fallback;
    return std::clamp(*value < 0 ? std::max<std::int64_t>(*value, -n - 1) + n : *value, low, high);
  };
  const std::int64_t begin = clamp(part(start), step > 0 ? low : high), end = clamp(part(stop), step > 0 ? high : low);
  std::vector<std::size_t> indices;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    indices.push_back(static_cast<std::size_t>(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return indices;
}

std::optional<std::size_t> index_in(std::int64_t index, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index);
}

/// Returns the key's name for the message if the value is used.
std::string key_name(Runtime& runtime, const Value& key) {
  return printable_excerpt(key.as_text() ? key.as_text()->text() : to_repr(runtime, key).text());
}

/// Returns the item of a groupby pair by its name; null if `object` is not a group.
const Value* group_part(const Value& object, std::string_view name) {
  const ListObject* list = object.as_list();
  if (list == nullptr || !list->is_group) return nullptr;
  return name == "grouper" ? &list->items[0] : name == "list" ? &list->items[1] : nullptr;
}

}  // namespace

Value subscript(Runtime& runtime, const Value& object, const Value& key) {
  runtime.charge();
  require_defined(object);
  const auto integer = key.as_integer();
  if (const ListObject* list = object.as_list(); list != nullptr && integer) {
    const auto index = index_in(*integer, list->items.size());
    return index ? list->items[*index] : Value::undefined(key_name(runtime, key));
  }
  if (const MarkedText* text = object.as_text(); text != nullptr && integer) {
    runtime.charge(text->size() / 16);
    const auto offsets = character_offsets(text->text());
    const auto index = index_in(*integer, offsets.size() - 1);
    return index ? Value(text->part(offsets[*index], offsets[*index + 1])) : Value::undefined(key_name(runtime, key));
  }
  if (const DictObject* dict = object.as_dict()) {
    if (const Value* found = dict->find(runtime, key)) return *found;
  }
  if (key.as_text()) {
    if (const Value* part = group_part(object, key.as_text()->text())) return *part;
    if (auto method = bound_method(object, key.as_text()->text())) return std::move(*method);
  }
  return Value::undefined(key_name(runtime, key));
}

Value attribute(Runtime& runtime, const Value& object, const std::string& name) {
  runtime.charge();
  require_defined(object);
  const DictObject* dict = object.as_dict();
  // Methods hide entries of the same name, as in Python; a namespace and a loop have no methods.
  if (dict == nullptr || dict->is_dict()) {
    if (auto method = bound_method(object, name)) return std::move(*method);
  }
  if (dict != nullptr) {
    if (const Value* found = dict->find(runtime, std::string_view(name))) return *found;
  }
  if (const Value* part = group_part(object, name)) return *part;
  return Value::undefined(name);
}

Value sliced(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step) {
  require_defined(object);
  if (!is_slice_bound(start) || !is_slice_bound(stop) || !is_slice_bound(step)) return Value::undefined("slice");
  if (const ListObject* list = object.as_list()) {
    const auto indices = slice_indices(static_cast<std::int64_t>(list->items.size()), start, stop, step);
    runtime.charge(4 * indices.size());
    Items out;
    for (const std::size_t i : indices) out.push_back(list->items[i]);
    return list->is_tuple ? Value::tuple(std::move(out)) : Value::list(std::move(out));
  }
  if (const MarkedText* text = object.as_text()) {
    runtime.charge_text(text->size());
    const auto offsets = character_offsets(text->text());
    MarkedText out;
    for (const std::size_t i : slice_indices(static_cast<std::int64_t>(offsets.size()) - 1, start, stop, step)) {
      out.append_part(*text, offsets[i], offsets[i + 1]);
    }
    return Value(std::move(out));
  }
  return Value::undefined("slice");
}

Items items_of(Runtime& runtime, const Value& value) {
  Items out;
  if (const ListObject* list = value.as_list()) {
    runtime.charge(list->items.size());
    return list->items;
  }
  if (const DictObject* dict = value.as_dict(); dict != nullptr && dict->is_dict()) {
    runtime.charge(dict->items.size());
    for (const auto& item : dict->items) out.push_back(item.first);
    return out;
  }
  if (const MarkedText* text = value.as_text()) {
    runtime.charge(4 * text->size());
    const auto offsets = character_offsets(text->text());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) out.emplace_back(text->part(offsets[i], offsets[i + 1]));
    return out;
  }
  if (value.is_undefined()) return out;
  throw Failure(fmt::format("cannot loop over {}", type_name(value)));
}

std::int64_t n_characters(std::string_view text) { return std::count_if(text.begin(), text.end(), begins_character); }

std::optional<std::int64_t> length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (const ListObject* list = value.as_list()) return static_cast<std::int64_t>(list->items.size());
  if (const DictObject* dict = value.as_dict(); dict != nullptr && dict->is_dict())
    return static_cast<std::int64_t>(dict->items.size());
  if (const MarkedText* text = value.as_text()) return n_characters(text->text());
  return std::nullopt;
}

}  // namespace lathe::engine::jinja
