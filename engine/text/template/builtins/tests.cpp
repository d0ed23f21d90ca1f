// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/filters.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/text_kinds.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

using Test = bool (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

const Value& other(const Arguments& arguments) {
  const Value* value = arguments.find(0, "other");
  if (value == nullptr) throw Failure("the test needs an argument");
  return *value;
}

bool is_defined(Runtime&, const Value& v, const Arguments&) { return !v.is_undefined(); }
bool is_undefined(Runtime&, const Value& v, const Arguments&) { return v.is_undefined(); }
bool is_none(Runtime&, const Value& v, const Arguments&) { return v.is_none(); }
bool is_text(Runtime&, const Value& v, const Arguments&) { return v.as_text() != nullptr; }
bool is_boolean(Runtime&, const Value& v, const Arguments&) { return v.as<bool>() != nullptr; }
bool is_true_value(Runtime&, const Value& v, const Arguments&) { return v.as<bool>() != nullptr && *v.as<bool>(); }
bool is_false_value(Runtime&, const Value& v, const Arguments&) { return v.as<bool>() != nullptr && !*v.as<bool>(); }
bool is_integer(Runtime&, const Value& v, const Arguments&) {
  return v.as<std::int64_t>() != nullptr || v.as_long() != nullptr;
}
bool is_float(Runtime&, const Value& v, const Arguments&) { return v.as<double>() != nullptr; }
bool is_number(Runtime&, const Value& v, const Arguments&) { return v.as_number().has_value(); }
bool is_mapping(Runtime&, const Value& v, const Arguments&) { return v.as_dict() != nullptr && v.as_dict()->is_dict(); }
bool is_iterable(Runtime& r, const Value& v, const Arguments& a) {
  return v.as_text() != nullptr || v.as_list() != nullptr || v.is_undefined() || is_mapping(r, v, a);
}
bool is_callable(Runtime&, const Value& v, const Arguments&) {
  return v.as<FunctionPtr>() != nullptr || v.is_undefined() || (v.as_dict() != nullptr && v.as_dict()->call);
}
bool is_odd(Runtime& r, const Value& v, const Arguments&) { return equal(r, arithmetic(r, "%", v, Value(2)), Value(1)); }
bool is_even(Runtime& r, const Value& v, const Arguments&) { return equal(r, arithmetic(r, "%", v, Value(2)), Value(0)); }
bool is_divisible(Runtime& r, const Value& v, const Arguments& a) {
  return equal(r, arithmetic(r, "%", v, other(a)), Value(0));
}
bool is_equal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "==", v, other(a)); }
bool is_unequal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "!=", v, other(a)); }
bool is_less(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "<", v, other(a)); }
bool is_less_equal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "<=", v, other(a)); }
bool is_greater(Runtime& r, const Value& v, const Arguments& a) { return compared(r, ">", v, other(a)); }
bool is_greater_equal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, ">=", v, other(a)); }
bool is_in(Runtime& r, const Value& v, const Arguments& a) { return contains(r, other(a), v); }
/// Compares lists and objects by identity. Equal numbers or texts count as the same, which is how templates use the test.
bool is_same(Runtime& r, const Value& v, const Arguments& a) {
  const Value& w = other(a);
  if (v.as_list() != nullptr || w.as_list() != nullptr) return v.as_list() == w.as_list();
  if (v.as_dict() != nullptr || w.as_dict() != nullptr) return v.as_dict() == w.as_dict();
  return type_name(v) == type_name(w) && equal(r, v, w);
}
bool is_upper(Runtime& r, const Value& v, const Arguments&) { return is_all_upper(r, to_text(r, v)); }
bool is_lower(Runtime& r, const Value& v, const Arguments&) { return is_all_lower(r, to_text(r, v)); }
bool is_filter(Runtime&, const Value& v, const Arguments&) {
  return v.as_text() != nullptr && find_filter(v.as_text()->text()) != nullptr;
}
bool is_test(Runtime&, const Value& v, const Arguments&) { return v.as_text() != nullptr && has_test(v.as_text()->text()); }
/// Returns false, because no text is marked as escaped.
bool is_escaped(Runtime&, const Value&, const Arguments&) { return false; }

struct NamedTest {
  std::string_view name;
  Test test;
  std::size_t n_arguments = 0;
};

// THE TABLE of tests.
constexpr std::array kTests = {
    NamedTest{"defined", is_defined},
    NamedTest{"undefined", is_undefined},
    NamedTest{"none", is_none},
    NamedTest{"string", is_text},
    NamedTest{"boolean", is_boolean},
    NamedTest{"true", is_true_value},
    NamedTest{"false", is_false_value},
    NamedTest{"integer", is_integer},
    NamedTest{"float", is_float},
    NamedTest{"number", is_number},
    NamedTest{"mapping", is_mapping},
    NamedTest{"iterable", is_iterable},
    NamedTest{"sequence", is_iterable},
    NamedTest{"callable", is_callable},
    NamedTest{"odd", is_odd},
    NamedTest{"even", is_even},
    NamedTest{"divisibleby", is_divisible, 1},
    NamedTest{"eq", is_equal, 1},
    NamedTest{"equalto", is_equal, 1},
    NamedTest{"==", is_equal, 1},
    NamedTest{"ne", is_unequal, 1},
    NamedTest{"!=", is_unequal, 1},
    NamedTest{"lt", is_less, 1},
    NamedTest{"lessthan", is_less, 1},
    NamedTest{"<", is_less, 1},
    NamedTest{"le", is_less_equal, 1},
    NamedTest{"<=", is_less_equal, 1},
    NamedTest{"gt", is_greater, 1},
    NamedTest{"greaterthan", is_greater, 1},
    NamedTest{">", is_greater, 1},
    NamedTest{"ge", is_greater_equal, 1},
    NamedTest{">=", is_greater_equal, 1},
    NamedTest{"in", is_in, 1},
    NamedTest{"sameas", is_same, 1},
    NamedTest{"upper", is_upper},
    NamedTest{"lower", is_lower},
    NamedTest{"filter", is_filter},
    NamedTest{"test", is_test},
    NamedTest{"escaped", is_escaped},
};

}  // namespace

bool has_test(std::string_view name) {
  return std::any_of(kTests.begin(), kTests.end(), [&](const NamedTest& test) { return test.name == name; });
}

bool run_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  runtime.charge();
  for (const NamedTest& test : kTests) {
    if (test.name != name) continue;
    if (arguments.positional.size() > test.n_arguments)
      throw Failure(fmt::format("the test \"{}\" takes {}", name, at_most_arguments(test.n_arguments)));
    return test.test(runtime, value, arguments);
  }
  throw Failure(fmt::format("there is no test \"{}\"", printable_excerpt(name)));
}

}  // namespace lathe::engine::jinja
