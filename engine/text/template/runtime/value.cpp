// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/text/template/runtime/failure.h"
#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/whole_number.h"

namespace lathe::engine::jinja {

int depth_around(int inner) {
  if (inner >= kMaxValueDepth) throw Failure(fmt::format("a value is nested deeper than {} levels", kMaxValueDepth));
  return inner + 1;
}

namespace {

ListPtr make_list(Items items, bool is_tuple, bool is_group = false) {
  int inner = 0;
  for (const Value& item : items) inner = std::max(inner, item.depth());
  return std::make_shared<const ListObject>(ListObject{std::move(items), is_tuple, is_group, depth_around(inner)});
}

}  // namespace

Value Value::whole(const std::string& digits) {
  std::int64_t number = 0;
  const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
  return error == std::errc() ? Value(number) : Value(Data(std::make_shared<const LongInteger>(LongInteger{digits})));
}
Value Value::list(Items items) { return Value(Data(make_list(std::move(items), false))); }
Value Value::tuple(Items items) { return Value(Data(make_list(std::move(items), true))); }
Value Value::group(Value key, Value items) { return Value(Data(make_list({std::move(key), std::move(items)}, true, true))); }

int Value::depth() const {
  if (const ListObject* list = as_list()) return list->depth;
  if (const DictObject* dict = as_dict()) return dict->is_namespace ? 0 : dict->depth;
  if (const FunctionPtr* function = as<FunctionPtr>()) return (*function)->depth;
  return 0;
}

const MarkedText* Value::as_text() const {
  const TextPtr* text = as<TextPtr>();
  return text == nullptr ? nullptr : text->get();
}
const ListObject* Value::as_list() const {
  const ListPtr* list = as<ListPtr>();
  return list == nullptr ? nullptr : list->get();
}
DictObject* Value::as_dict() const {
  const DictPtr* dict = as<DictPtr>();
  return dict == nullptr ? nullptr : dict->get();
}

const std::string* Value::as_long() const {
  const LongPtr* number = as<LongPtr>();
  return number == nullptr ? nullptr : &(*number)->digits;
}

std::optional<std::int64_t> Value::as_integer() const {
  if (const auto* integer = as<std::int64_t>()) return *integer;
  if (const auto* boolean = as<bool>()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (const auto* number = as<double>()) return *number;
  if (const auto integer = as_integer()) return static_cast<double>(*integer);
  const std::string* digits = as_long();
  if (digits == nullptr) return std::nullopt;
  double number = 0;
  const auto error = std::from_chars(digits->data(), digits->data() + digits->size(), number).ec;
  if (error == std::errc()) return number;
  return digits->starts_with('-') ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

const Value* DictObject::find(Runtime& runtime, std::string_view key) const {
  runtime.charge(1 + items.size() / 8);
  for (const auto& [name, value] : items) {
    const MarkedText* text = name.as_text();
    if (text == nullptr || text->size() != key.size()) continue;
    runtime.charge(key.size() / 64);
    if (text->text() == key) return &value;
  }
  return nullptr;
}

const Value* DictObject::find(Runtime& runtime, const Value& key) const {
  if (const MarkedText* text = key.as_text()) return find(runtime, std::string_view(text->text()));
  for (const auto& [name, value] : items) {
    if (equal(runtime, name, key)) return &value;
  }
  return nullptr;
}

void DictObject::set(Runtime& runtime, Value key, Value value) {
  if (const Value* known = find(runtime, key)) {
    depth = std::max(depth, depth_around(value.depth()));
    const_cast<Value&>(*known) = std::move(value);
  } else {
    append(std::move(key), std::move(value));
  }
}

void DictObject::append(Value key, Value value) {
  depth = std::max(depth, depth_around(std::max(key.depth(), value.depth())));
  items.emplace_back(std::move(key), std::move(value));
}

const Value* Arguments::find(std::size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.as<bool>() != nullptr) return "bool";
  if (value.as<std::int64_t>() != nullptr || value.as_long() != nullptr) return "int";
  if (value.as<double>() != nullptr) return "float";
  if (value.as_text() != nullptr) return "str";
  if (const ListObject* list = value.as_list()) return list->is_tuple ? "tuple" : "list";
  if (const DictObject* dict = value.as_dict())
    return dict->is_namespace ? "Namespace" : dict->is_dict() ? "dict" : dict->kind;
  return "function";
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const auto number = value.as_number()) return *number != 0;
  if (const MarkedText* text = value.as_text()) return !text->empty();
  if (const ListObject* list = value.as_list()) return !list->items.empty();
  if (const DictObject* dict = value.as_dict()) return !dict->is_dict() || !dict->items.empty();
  return true;
}

namespace {

bool equal_lists(Runtime& runtime, const ListObject& a, const ListObject& b) {
  if (a.is_tuple != b.is_tuple || a.items.size() != b.items.size()) return false;
  return &a == &b || std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                                [&](const Value& x, const Value& y) { return equal(runtime, x, y); });
}

bool equal_dicts(Runtime& runtime, const DictObject& a, const DictObject& b) {
  if (&a == &b) return true;
  if (a.items.size() != b.items.size() || !a.is_dict() || !b.is_dict()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
    const Value* other = b.find(runtime, item.first);
    return other != nullptr && equal(runtime, item.second, *other);
  });
}

/// Compares a long integer with a number; nothing if neither is long, or one of them is no number.
std::optional<std::partial_ordering> compare_long(const Value& a, const Value& b) {
  const std::string* digits = a.as_long();
  if (digits == nullptr) {
    if (b.as_long() == nullptr) return std::nullopt;
    const auto order = compare_long(b, a);
    return order ? std::optional(0 <=> *order) : std::nullopt;
  }
  if (const std::string* others = b.as_long()) return compare_whole(*digits, *others);
  if (const auto integer = b.as_integer()) return compare_whole(*digits, fmt::format("{}", *integer));
  if (const auto number = b.as_number()) return compare_whole(*digits, *number);
  return std::nullopt;
}

}  // namespace

bool equal(Runtime& runtime, const Value& a, const Value& b) {
  runtime.charge();
  if (const auto x = a.as_integer(), y = b.as_integer(); x && y) return *x == *y;
  if (const auto order = compare_long(a, b)) return *order == 0;
  if (const auto x = a.as_number(), y = b.as_number(); x && y) return *x == *y;
  if (const MarkedText* x = a.as_text(), *y = b.as_text(); x != nullptr && y != nullptr) {
    if (x->size() != y->size()) return false;
    runtime.charge(x->size() / 64);
    return x->text() == y->text();
  }
  if (const ListObject* x = a.as_list(), *y = b.as_list(); x != nullptr && y != nullptr) return equal_lists(runtime, *x, *y);
  if (const DictObject* x = a.as_dict(), *y = b.as_dict(); x != nullptr && y != nullptr) return equal_dicts(runtime, *x, *y);
  if (const FunctionPtr* x = a.as<FunctionPtr>(), *y = b.as<FunctionPtr>(); x != nullptr && y != nullptr) return *x == *y;
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

std::partial_ordering compare(Runtime& runtime, const Value& a, const Value& b) {
  runtime.charge();
  if (const auto x = a.as_integer(), y = b.as_integer(); x && y) return *x <=> *y;
  if (const auto order = compare_long(a, b)) return *order;
  if (const auto x = a.as_number(), y = b.as_number(); x && y) return *x <=> *y;
  if (const MarkedText* x = a.as_text(), *y = b.as_text(); x != nullptr && y != nullptr) {
    runtime.charge(std::min(x->size(), y->size()) / 64);
    return x->text() <=> y->text();  // the order of UTF-8 bytes equals the order of code points
  }
  if (const ListObject* x = a.as_list(), *y = b.as_list(); x != nullptr && y != nullptr && x->is_tuple == y->is_tuple) {
    for (std::size_t i = 0; i < x->items.size() && i < y->items.size(); ++i) {
      if (!equal(runtime, x->items[i], y->items[i])) return compare(runtime, x->items[i], y->items[i]);
    }
    return x->items.size() <=> y->items.size();
  }
  throw Failure(fmt::format("cannot order {} and {}", type_name(a), type_name(b)));
}

std::string at_most_arguments(std::size_t n) {
  return n == 0 ? "no arguments" : fmt::format("no more than {} argument{}", n, n == 1 ? "" : "s");
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const double size = std::abs(value);
  const auto format = size != 0 && (size < 1e-4 || size >= 1e16) ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr;
  std::string text(buffer, end);
  if (format == std::chars_format::fixed && text.find('.') == text.npos) text += ".0";
  return text;
}

}  // namespace lathe::engine::jinja
