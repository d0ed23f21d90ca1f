// SPDX-License-Identifier: Apache-2.0
// Numbers of a schema: bounds, multiples and formats.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "engine/api/printable.h"
#include "engine/sample/grammar/number_range.h"
#include "engine/sample/grammar/schema_rules.h"

namespace lathe::engine::grammar {
namespace {

constexpr std::int32_t kMostMultiple = 2000;

std::optional<Decimal> number_of(SchemaRules& rules, const OrderedJson& schema, const char* keyword,
                                 const std::string& path) {
  const OrderedJson* value = SchemaRules::find(schema, keyword);
  if (value == nullptr || value->is_boolean()) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    rules.refuse(fmt::format("must be a number, got {}", printable(dump_json(*value), 80)), path + "." + keyword);
    return std::nullopt;
  }
  return value->is_number_integer() && !value->is_number_unsigned() ? decimal_of(value->get<std::int64_t>())
                                                                    : decimal_of(value->get<double>());
}

/// The tighter of a bound and its exclusive form. OpenAPI 3.0 writes the latter as a flag of the former.
std::optional<NumberBound> bound_of(SchemaRules& rules, const OrderedJson& schema, bool is_min, const std::string& path) {
  const char* keyword = is_min ? "minimum" : "maximum";
  const char* exclusive_keyword = is_min ? "exclusiveMinimum" : "exclusiveMaximum";
  const auto inclusive = number_of(rules, schema, keyword, path),
             exclusive = number_of(rules, schema, exclusive_keyword, path);
  const OrderedJson* flag = SchemaRules::find(schema, exclusive_keyword);
  if (!exclusive) {
    if (!inclusive) return std::nullopt;
    return NumberBound{*inclusive, flag != nullptr && *flag == true};
  }
  if (!inclusive) return NumberBound{*exclusive, true};
  const int order = compare(*exclusive, *inclusive);
  const bool takes_exclusive = is_min ? order >= 0 : order <= 0;
  return takes_exclusive ? NumberBound{*exclusive, true} : NumberBound{*inclusive, false};
}

/// 1 followed or preceded by zeros alone: the digits behind the point of 0.01; nothing for other numbers.
std::optional<std::int32_t> power_of_ten_digits(const Decimal& value) {
  if (value.is_negative || value.whole != "0" || value.fraction.empty()) return std::nullopt;
  if (value.fraction.find_first_not_of('0') + 1 != value.fraction.size() || value.fraction.back() != '1')
    return std::nullopt;
  return static_cast<std::int32_t>(value.fraction.size());
}

void read_multiple(SchemaRules& rules, const OrderedJson& schema, const std::string& path, NumberRange& range) {
  const auto multiple = number_of(rules, schema, "multipleOf", path);
  if (!multiple) return;
  const auto digits = power_of_ten_digits(*multiple);
  const bool is_whole = multiple->fraction.empty() && !multiple->is_negative && multiple->whole.size() <= 4;
  const int value = is_whole ? std::stoi(multiple->whole) : 0;
  if (digits) {
    range.fraction_digits = *digits;
  } else if (value >= 1 && value <= kMostMultiple) {
    range.is_integer = true;
    range.multiple_of = value;
  } else {
    rules.refuse(fmt::format("only whole numbers from 1 to {} and 0.1, 0.01, ... are enforced, got {}", kMostMultiple,
                             printable(dump_json(schema["multipleOf"]), 40)),
                 path + ".multipleOf");
  }
}

/// Formats of OpenAPI: sizes of whole numbers are bounds; those of fractions say nothing about the text.
void read_format(SchemaRules& rules, const OrderedJson& schema, const std::string& path, NumberRange& range) {
  const OrderedJson* format = SchemaRules::find(schema, "format");
  if (format == nullptr || *format == "float" || *format == "double" || *format == "int64") return;
  if (*format != "int32") {
    return rules.refuse(
        fmt::format("the format {} of a number is not enforced; leave it out", printable(dump_json(*format), 60)),
        path + ".format");
  }
  const NumberBound low{decimal_of(std::int64_t{-2147483648}), false}, high{decimal_of(std::int64_t{2147483647}), false};
  if (!range.min || compare(range.min->value, low.value) < 0) range.min = low;
  if (!range.max || compare(range.max->value, high.value) > 0) range.max = high;
}

}  // namespace

RuleId number_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path, bool is_integer) {
  NumberRange range;
  range.is_integer = is_integer;
  range.min = bound_of(rules, schema, true, path);
  range.max = bound_of(rules, schema, false, path);
  read_multiple(rules, schema, path, range);
  // A format of a schema of several types is that of its strings.
  const OrderedJson* type = SchemaRules::find(schema, "type");
  if (type != nullptr && type->is_string()) read_format(rules, schema, path, range);
  GrammarBuilder& builder = rules.builder();
  if (builder.failed()) return 0;
  const bool is_free = !range.min && !range.max && range.fraction_digits < 0 && range.multiple_of == 0;
  if (is_free) return is_integer ? rules.json().integer() : rules.json().number();
  const RuleId rule = builder.make_rule();
  builder.add_empty(append_number(builder, builder.rule(rule).start, range), builder.rule(rule).final);
  return rule;
}

}  // namespace lathe::engine::grammar
