// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/text/template/failure.h"

namespace lathe::engine::jinja {

namespace {

/// Depth of a container around these values. Throws when it would be too deep for what walks over values.
int depth_around(int inner) {
  if (inner >= kMaxValueDepth) throw Failure(fmt::format("a value is nested deeper than {} levels", kMaxValueDepth));
  return inner + 1;
}

ListPtr make_list(Items items, bool is_tuple) {
  int inner = 0;
  for (const Value& item : items) inner = std::max(inner, item.depth());
  return std::make_shared<const ListObject>(ListObject{std::move(items), is_tuple, depth_around(inner)});
}

}  // namespace

Value Value::list(Items items) { return Value(Data(make_list(std::move(items), false))); }
Value Value::tuple(Items items) { return Value(Data(make_list(std::move(items), true))); }

int Value::depth() const {
  if (const ListObject* list = as_list()) return list->depth;
  if (const DictObject* dict = as_dict()) return dict->is_namespace ? 0 : dict->depth;
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

std::optional<std::int64_t> Value::as_integer() const {
  if (const auto* integer = as<std::int64_t>()) return *integer;
  if (const auto* boolean = as<bool>()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (const auto* number = as<double>()) return *number;
  if (const auto integer = as_integer()) return static_cast<double>(*integer);
  return std::nullopt;
}

const Value* DictObject::find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    const MarkedText* text = name.as_text();
    if (text != nullptr && text->text() == key) return &value;
  }
  return nullptr;
}

const Value* DictObject::find(const Value& key) const {
  if (const MarkedText* text = key.as_text()) return find(std::string_view(text->text()));
  for (const auto& [name, value] : items) {
    if (equal(name, key)) return &value;
  }
  return nullptr;
}

void DictObject::set(Value key, Value value) {
  depth = std::max(depth, depth_around(std::max(key.depth(), value.depth())));
  if (const Value* known = find(key)) {
    const_cast<Value&>(*known) = std::move(value);
  } else {
    items.emplace_back(std::move(key), std::move(value));
  }
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
  if (value.as<std::int64_t>() != nullptr) return "int";
  if (value.as<double>() != nullptr) return "float";
  if (value.as_text() != nullptr) return "str";
  if (const ListObject* list = value.as_list()) return list->is_tuple ? "tuple" : "list";
  if (const DictObject* dict = value.as_dict())
    return dict->is_namespace ? "Namespace" : dict->is_loop ? "LoopContext" : "dict";
  return "function";
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const auto number = value.as_number()) return *number != 0;
  if (const MarkedText* text = value.as_text()) return !text->empty();
  if (const ListObject* list = value.as_list()) return !list->items.empty();
  if (const DictObject* dict = value.as_dict()) return dict->is_namespace || !dict->items.empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (const auto x = a.as_integer(), y = b.as_integer(); x && y) return *x == *y;
  if (const auto x = a.as_number(), y = b.as_number(); x && y) return *x == *y;
  if (const MarkedText* x = a.as_text(), *y = b.as_text(); x != nullptr && y != nullptr) return x->text() == y->text();
  if (const ListObject* x = a.as_list(), *y = b.as_list(); x != nullptr && y != nullptr) {
    return x->is_tuple == y->is_tuple &&
           std::equal(x->items.begin(), x->items.end(), y->items.begin(), y->items.end(), equal);
  }
  if (const DictObject* x = a.as_dict(), *y = b.as_dict(); x != nullptr && y != nullptr) {
    if (x == y) return true;
    if (x->items.size() != y->items.size() || x->is_namespace || y->is_namespace) return false;
    return std::all_of(x->items.begin(), x->items.end(), [&](const auto& item) {
      const Value* other = y->find(item.first);
      return other != nullptr && equal(item.second, *other);
    });
  }
  if (const FunctionPtr* x = a.as<FunctionPtr>(), *y = b.as<FunctionPtr>(); x != nullptr && y != nullptr) return *x == *y;
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

std::partial_ordering compare(const Value& a, const Value& b) {
  if (const auto x = a.as_integer(), y = b.as_integer(); x && y) return *x <=> *y;
  if (const auto x = a.as_number(), y = b.as_number(); x && y) return *x <=> *y;
  // Bytes of UTF-8 are in the order of the code points.
  if (const MarkedText* x = a.as_text(), *y = b.as_text(); x != nullptr && y != nullptr) return x->text() <=> y->text();
  if (const ListObject* x = a.as_list(), *y = b.as_list(); x != nullptr && y != nullptr) {
    for (std::size_t i = 0; i < x->items.size() && i < y->items.size(); ++i) {
      if (!equal(x->items[i], y->items[i])) return compare(x->items[i], y->items[i]);
    }
    return x->items.size() <=> y->items.size();
  }
  throw Failure(fmt::format("cannot order {} and {}", type_name(a), type_name(b)));
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

namespace {

/// Python's choice of quotes and escapes.
MarkedText quoted(const MarkedText& value) {
  const std::string& text = value.text();
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  MarkedText out(std::string_view(&quote, 1), Source::model);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const Source source = value.source_at(i);
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out.append(fmt::format("\\{}", c), source);
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out.append(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", source);
    } else if (byte < 0x20 || byte == 0x7F) {
      out.append(fmt::format("\\x{:02x}", byte), source);
    } else {
      out.append(std::string_view(&c, 1), source);
    }
  }
  out.append(std::string_view(&quote, 1), Source::model);
  return out;
}

MarkedText list_repr(const ListObject& list) {
  MarkedText out(list.is_tuple ? "(" : "[", Source::model);
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.append(", ", Source::model);
    out.append(to_repr(list.items[i]));
  }
  if (list.is_tuple && list.items.size() == 1) out.append(",", Source::model);
  out.append(list.is_tuple ? ")" : "]", Source::model);
  return out;
}

MarkedText dict_repr(const DictObject& dict) {
  if (dict.is_loop) return MarkedText("<LoopContext>", Source::model);
  if (dict.is_namespace) return MarkedText("<Namespace>", Source::model);
  MarkedText out("{", Source::model);
  bool first = true;
  for (const auto& [key, value] : dict.items) {
    if (!first) out.append(", ", Source::model);
    first = false;
    out.append(to_repr(key));
    out.append(": ", Source::model);
    out.append(to_repr(value));
  }
  out.append("}", Source::model);
  return out;
}

}  // namespace

MarkedText to_repr(const Value& value) {
  if (const MarkedText* text = value.as_text()) return quoted(*text);
  if (const ListObject* list = value.as_list()) return list_repr(*list);
  if (const DictObject* dict = value.as_dict()) return dict_repr(*dict);
  if (value.is_undefined()) return MarkedText("Undefined", Source::model);
  if (value.is_none()) return MarkedText("None", Source::model);
  if (const auto* boolean = value.as<bool>()) return MarkedText(*boolean ? "True" : "False", Source::model);
  if (const auto* integer = value.as<std::int64_t>()) return MarkedText(fmt::format("{}", *integer), Source::model);
  if (const auto* number = value.as<double>()) return MarkedText(float_text(*number), Source::model);
  return MarkedText(fmt::format("<function {}>", (*value.as<FunctionPtr>())->name), Source::model);
}

MarkedText to_text(const Value& value) {
  if (const MarkedText* text = value.as_text()) return *text;
  if (value.is_undefined()) return {};
  return to_repr(value);
}

}  // namespace lathe::engine::jinja
