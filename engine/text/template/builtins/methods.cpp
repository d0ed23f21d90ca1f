// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/methods.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/text_methods.h"

namespace lathe::engine::jinja {
namespace {

Value dict_pairs(Runtime& runtime, const Value& self, const Arguments&) {
  Items out;
  runtime.charge(4 * self.as_dict()->items.size());
  for (const auto& [key, value] : self.as_dict()->items) out.push_back(Value::tuple({key, value}));
  return Value::list(std::move(out));
}
Value dict_keys(Runtime& runtime, const Value& self, const Arguments&) { return Value::list(items_of(runtime, self)); }
Value dict_values(Runtime& runtime, const Value& self, const Arguments&) {
  Items out;
  runtime.charge(self.as_dict()->items.size());
  for (const auto& item : self.as_dict()->items) out.push_back(item.second);
  return Value::list(std::move(out));
}
Value dict_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* key = arguments.find(0, "key");
  if (key == nullptr) throw Failure("get() needs a key");
  if (const Value* found = self.as_dict()->find(runtime, *key)) return *found;
  const Value* fallback = arguments.find(1, "default");
  return fallback != nullptr ? *fallback : Value::none();
}
Value dict_copy(Runtime& runtime, const Value& self, const Arguments&) {
  runtime.charge(self.as_dict()->items.size());
  return Value(std::make_shared<DictObject>(*self.as_dict()));
}

Value list_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Items& items = self.as_list()->items;
  const Value* wanted = arguments.find(0, "value");
  for (std::size_t i = 0; wanted != nullptr && i < items.size(); ++i) {
    if (equal(runtime, items[i], *wanted)) return Value(static_cast<std::int64_t>(i));
  }
  throw Failure("index(): the value is not in the list");
}
Value list_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* wanted = arguments.find(0, "value");
  std::int64_t n = 0;
  for (const Value& item : self.as_list()->items) n += wanted != nullptr && equal(runtime, item, *wanted) ? 1 : 0;
  return Value(n);
}

/// Returns the list itself, because no template can change a list.
Value list_copy(Runtime&, const Value& self, const Arguments&) { return self; }

Value refuse_change(Runtime&, const Value& self, const Arguments&) {
  throw Failure(fmt::format("a template cannot change a {}; make a new one with + or a namespace", type_name(self)));
}

// THE TABLE of dict methods.
constexpr std::array kDictMethods = {
    NamedMethod{"items", dict_pairs},     NamedMethod{"keys", dict_keys},      NamedMethod{"values", dict_values},
    NamedMethod{"get", dict_get},         NamedMethod{"copy", dict_copy},      NamedMethod{"pop", refuse_change},
    NamedMethod{"update", refuse_change}, NamedMethod{"clear", refuse_change}, NamedMethod{"setdefault", refuse_change},
};
// THE TABLE of list methods.
constexpr std::array kListMethods = {
    NamedMethod{"index", list_index},     NamedMethod{"count", list_count},     NamedMethod{"copy", list_copy},
    NamedMethod{"append", refuse_change}, NamedMethod{"extend", refuse_change}, NamedMethod{"insert", refuse_change},
    NamedMethod{"pop", refuse_change},    NamedMethod{"remove", refuse_change}, NamedMethod{"reverse", refuse_change},
    NamedMethod{"sort", refuse_change},   NamedMethod{"clear", refuse_change},
};

Method find_in(std::span<const NamedMethod> methods, std::string_view name) {
  for (const NamedMethod& method : methods) {
    if (method.name == name) return method.method;
  }
  return nullptr;
}

}  // namespace

Method find_method(const Value& object, std::string_view name) {
  if (object.as_text() != nullptr) return find_text_method(name);
  if (object.as_list() != nullptr) return find_in(kListMethods, name);
  const DictObject* dict = object.as_dict();
  return dict != nullptr && dict->is_dict() ? find_in(kDictMethods, name) : nullptr;
}

std::optional<Value> bound_method(const Value& object, const std::string& name) {
  const Method method = find_method(object, name);
  if (method == nullptr) return std::nullopt;
  auto call = [method, object](Runtime& runtime, const Arguments& arguments) { return method(runtime, object, arguments); };
  return Value(std::make_shared<const Function>(Function{name, std::move(call), depth_around(object.depth())}));
}

const MarkedText& text_argument(const Arguments& arguments, std::size_t index, std::string_view name) {
  const Value* value = arguments.find(index, name);
  if (value != nullptr && value->as_text() != nullptr) return *value->as_text();
  throw Failure(
      fmt::format("the argument \"{}\" must be a text, got {}", name, value == nullptr ? "nothing" : type_name(*value)));
}

std::int64_t integer_argument(const Arguments& arguments, std::size_t index, std::string_view name, std::int64_t fallback) {
  const Value* value = arguments.find(index, name);
  if (value == nullptr || value->is_none()) return fallback;
  if (const auto integer = value->as_integer()) return *integer;
  if (value->as_long() != nullptr) throw Failure(fmt::format("the argument \"{}\" does not fit into 64 bits", name));
  throw Failure(fmt::format("the argument \"{}\" must be a whole number, got {}", name, type_name(*value)));
}

bool flag_argument(const Arguments& arguments, std::size_t index, std::string_view name, bool fallback) {
  const Value* value = arguments.find(index, name);
  return value != nullptr ? is_true(*value) : fallback;
}

}  // namespace lathe::engine::jinja
