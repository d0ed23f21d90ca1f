// SPDX-License-Identifier: Apache-2.0
// Value: a value of the template language, with Python's rules for truth, equality, order and text.
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

#include "engine/text/template/runtime/marked_text.h"

namespace lathe::engine::jinja {

class Value;
class Runtime;

/// The value of a missing variable: it prints as an empty text, and any other use fails.
struct Undefined {
  std::shared_ptr<const std::string> name;  ///< name in the template; may be null
};
struct None {};
/// A whole number that does not fit into 64 bits.
struct LongInteger {
  std::string digits;  ///< see whole_digits()
};

using Items = std::vector<Value>;
struct ListObject;
struct DictObject;
struct Function;
using LongPtr = std::shared_ptr<const LongInteger>;
using TextPtr = std::shared_ptr<const MarkedText>;
using ListPtr = std::shared_ptr<const ListObject>;
using DictPtr = std::shared_ptr<DictObject>;
using FunctionPtr = std::shared_ptr<const Function>;

class Value {
 public:
  using Data = std::variant<Undefined, None, bool, std::int64_t, LongPtr, double, TextPtr, ListPtr, DictPtr, FunctionPtr>;

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
  /// Makes the whole number that whole_digits() returned.
  static Value whole(const std::string& digits);
  static Value list(Items items);
  static Value tuple(Items items);
  /// Makes the pair that groupby returns for items with the same key.
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
  /// Returns the digits of a whole number that does not fit into 64 bits, else null.
  const std::string* as_long() const;
  /// Returns whether the value is a whole number of any length, or a boolean.
  bool is_whole() const { return as_long() != nullptr || as_integer(); }
  /// Returns the value of integers of 64 bits and of booleans, which are 0 and 1.
  std::optional<std::int64_t> as_integer() const;
  /// Returns the value of integers, booleans and floats. A double rounds a long integer, and one too long for it is
  /// infinite.
  std::optional<double> as_number() const;
  /// Returns the nesting levels of lists, dicts and bound methods. A namespace counts as 0, because it may contain itself:
  /// its entries are not walked, and the runtime frees it.
  int depth() const;

 private:
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

/// Maximum nesting of values, so that walking and freeing them needs little stack.
inline constexpr int kMaxValueDepth = 200;
/// Returns the depth of a value that contains values of the depth `inner`. Throws Failure if that is too deep.
int depth_around(int inner);

struct ListObject {
  Items items;
  bool is_tuple = false;
  bool is_group = false;  ///< made by groupby: the two items are also called grouper and list
  int depth = 1;
};

/// A dict that keeps the order of insertion, a namespace, or an object with attributes.
struct DictObject {
  std::vector<std::pair<Value, Value>> items;
  bool is_namespace = false;  ///< a template may set entries of a namespace, and of no other object, after it is made
  std::string_view kind;      ///< Python's type name of an object that only has attributes; empty for a dict and a namespace
  FunctionPtr call;           ///< function that a call of the object runs; null: not callable
  int depth = 1;

  bool is_dict() const { return !is_namespace && kind.empty(); }
  /// Returns null if the key does not exist. Charges for the entries that it compares one by one.
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

  /// Returns the argument at `index` or with the name `name`; null if it is not given.
  const Value* find(std::size_t index, std::string_view name) const;
};

/// Returns "no arguments" or "no more than 1 argument", for the message if more arguments are given.
std::string at_most_arguments(std::size_t n);

struct Function {
  std::string name;
  std::function<Value(Runtime& runtime, const Arguments& arguments)> call;
  int depth = 0;  ///< depth_around() of the values that `call` holds; 0 for a macro, whose values the runtime frees
};

/// Returns Python's type name: "str", "list", "dict".
std::string_view type_name(const Value& value);
bool is_true(const Value& value);
/// Lists may contain each other many times: both functions charge for each value and byte that they compare.
bool equal(Runtime& runtime, const Value& a, const Value& b);
/// Throws Failure for types without an order.
std::partial_ordering compare(Runtime& runtime, const Value& a, const Value& b);

std::string float_text(double value);

}  // namespace lathe::engine::jinja
