// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/tests.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/utf8.h"
#include "engine/text/template/methods.h"
#include "engine/text/template/operators.h"
#include "engine/text/template/to_text.h"

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
bool is_integer(Runtime&, const Value& v, const Arguments&) { return v.as<std::int64_t>() != nullptr; }
bool is_float(Runtime&, const Value& v, const Arguments&) { return v.as<double>() != nullptr; }
bool is_number(Runtime&, const Value& v, const Arguments&) { return v.as_number().has_value(); }
bool is_mapping(Runtime&, const Value& v, const Arguments&) {
  return v.as_dict() != nullptr && !v.as_dict()->is_namespace && !v.as_dict()->is_loop;
}
bool is_iterable(Runtime& r, const Value& v, const Arguments& a) {
  return v.as_text() != nullptr || v.as_list() != nullptr || v.is_undefined() || is_mapping(r, v, a);
}
bool is_callable(Runtime&, const Value& v, const Arguments&) { return v.as<FunctionPtr>() != nullptr; }
bool is_odd(Runtime& r, const Value& v, const Arguments&) { return is_true(arithmetic(r, "%", v, Value(2))); }
bool is_even(Runtime& r, const Value& v, const Arguments&) { return !is_true(arithmetic(r, "%", v, Value(2))); }
bool is_divisible(Runtime& r, const Value& v, const Arguments& a) { return !is_true(arithmetic(r, "%", v, other(a))); }
bool is_equal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "==", v, other(a)); }
bool is_unequal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "!=", v, other(a)); }
bool is_less(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "<", v, other(a)); }
bool is_less_equal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, "<=", v, other(a)); }
bool is_greater(Runtime& r, const Value& v, const Arguments& a) { return compared(r, ">", v, other(a)); }
bool is_greater_equal(Runtime& r, const Value& v, const Arguments& a) { return compared(r, ">=", v, other(a)); }
bool is_in(Runtime& r, const Value& v, const Arguments& a) { return contains(r, other(a), v); }
/// Identity of the singletons and of equal values of one type; what templates use it for.
bool is_same(Runtime& r, const Value& v, const Arguments& a) {
  return type_name(v) == type_name(other(a)) && equal(r, v, other(a));
}
bool has_case(Runtime& r, const Value& v, LetterCase letters) {
  const MarkedText text = to_text(r, v);
  return with_case(r, text, letters).text() == text.text();
}
bool is_upper(Runtime& r, const Value& v, const Arguments&) { return has_case(r, v, LetterCase::upper); }
bool is_lower(Runtime& r, const Value& v, const Arguments&) { return has_case(r, v, LetterCase::lower); }

struct NamedTest {
  std::string_view name;
  Test test;
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
    NamedTest{"divisibleby", is_divisible},
    NamedTest{"eq", is_equal},
    NamedTest{"equalto", is_equal},
    NamedTest{"==", is_equal},
    NamedTest{"ne", is_unequal},
    NamedTest{"!=", is_unequal},
    NamedTest{"lt", is_less},
    NamedTest{"lessthan", is_less},
    NamedTest{"<", is_less},
    NamedTest{"le", is_less_equal},
    NamedTest{"<=", is_less_equal},
    NamedTest{"gt", is_greater},
    NamedTest{"greaterthan", is_greater},
    NamedTest{">", is_greater},
    NamedTest{"ge", is_greater_equal},
    NamedTest{">=", is_greater_equal},
    NamedTest{"in", is_in},
    NamedTest{"sameas", is_same},
    NamedTest{"upper", is_upper},
    NamedTest{"lower", is_lower},
};

}  // namespace

bool run_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  runtime.charge();
  for (const NamedTest& test : kTests) {
    if (test.name == name) return test.test(runtime, value, arguments);
  }
  throw Failure(fmt::format("there is no test \"{}\"", printable_excerpt(name)));
}

}  // namespace lathe::engine::jinja
