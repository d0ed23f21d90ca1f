// SPDX-License-Identifier: Apache-2.0
// Values of the template language, with Python's meaning of truth, equality, order and text.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/text/template/marked_text.h"

namespace lathe::engine::jinja {

class Value;
class Runtime;

/// What a missing variable gives; prints as nothing, fails when it is used for more.
struct Undefined {
  std::shared_ptr<const std::string> name;  ///< as the template wrote it; may be null
};
struct None {};

using Items = std::vector<Value>;
struct ListObject;
struct DictObject;
struct Function;
using TextPtr = std::shared_ptr<const MarkedText>;
using ListPtr = std::shared_ptr<const ListObject>;
using DictPtr = std::shared_ptr<DictObject>;
using FunctionPtr = std::shared_ptr<const Function>;

class Value {
 public:
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, ListPtr, DictPtr, FunctionPtr>;

  Value() = default;
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}
  Value(double value) : data_(value) {}
  Value(MarkedText text) : data_(std::make_shared<const MarkedText>(std::move(text))) {}
  Value(DictPtr dict) : data_(std::move(dict)) {}
  Value(FunctionPtr function) : data_(std::move(function)) {}
  Value(const char*) = delete;

  static Value none() { return Value(Data(None{})); }
  static Value undefined(std::string name) {
    return Value(Data(Undefined{std::make_shared<const std::string>(std::move(name))}));
  }
  static Value text(std::string_view text, Source source = Source::model) { return Value(MarkedText(text, source)); }
  static Value list(Items items);
  static Value tuple(Items items);
  /// What groupby makes of the items that share a key.
  static Value group(Value key, Value items);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data_);
  }
  const MarkedText* as_text() const;
  const ListObject* as_list() const;
  DictObject* as_dict() const;
  bool is_undefined() const { return as<Undefined>() != nullptr; }
  bool is_none() const { return as<None>() != nullptr; }
  /// Integers and booleans, which count as 0 and 1.
  std::optional<std::int64_t> as_integer() const;
  /// Integers, booleans and floats.
  std::optional<double> as_number() const;
  /// Levels of lists, dicts and bound methods in it. A namespace, which may hold itself, counts as none: its entries are not
  /// walked over, and the runtime frees it.
  int depth() const;

 private:
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

/// Values nest no deeper, so that walking over and freeing them needs little stack.
inline constexpr int kMaxValueDepth = 200;
/// Depth of what holds values of the depth `inner`. Throws Failure when that is too deep.
int depth_around(int inner);

struct ListObject {
  Items items;
  bool is_tuple = false;
  bool is_group = false;  ///< of groupby: its two items are also called grouper and list
  int depth = 1;
};

/// Keeps the order of insertion.
struct DictObject {
  std::vector<std::pair<Value, Value>> items;
  bool is_namespace = false;  ///< the only one whose entries a template may set once it is made
  std::string_view kind;      ///< Python's name of an object that has attributes only; empty for a dict and a namespace
  FunctionPtr call;           ///< of an object that can be called
  int depth = 1;

  bool is_dict() const { return !is_namespace && kind.empty(); }
  /// Null when there is none. Looks at one entry after the other and charges for that.
  const Value* find(Runtime& runtime, std::string_view key) const;
  const Value* find(Runtime& runtime, const Value& key) const;
  void set(Runtime& runtime, Value key, Value value);
  void put(Runtime& runtime, std::string_view name, Value value) { set(runtime, Value::text(name), std::move(value)); }
  /// Requires: no entry has the key.
  void append(Value key, Value value);
};

struct Arguments {
  Items positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at `index` or called `name`; null when it is not given.
  const Value* find(std::size_t index, std::string_view name) const;
};

/// "no arguments", "no more than 1 argument": what is taken where more are given.
std::string at_most_arguments(std::size_t n);

struct Function {
  std::string name;
  std::function<Value(Runtime& runtime, const Arguments& arguments)> call;
  int depth = 0;  ///< depth_around() the values that `call` holds; those of a macro are freed by the runtime
};

/// "str", "list", "dict": Python's names.
std::string_view type_name(const Value& value);
bool is_true(const Value& value);
/// Lists may hold one another many times over: both charge for each value and byte that they compare.
bool equal(Runtime& runtime, const Value& a, const Value& b);
/// Throws Failure for kinds that have no order.
std::partial_ordering compare(Runtime& runtime, const Value& a, const Value& b);

std::string float_text(double value);

}  // namespace lathe::engine::jinja
