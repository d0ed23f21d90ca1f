// SPDX-License-Identifier: Apache-2.0
// Strings of a schema: lengths, patterns and formats.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/printable.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/schema_rules.h"

namespace lathe::engine::grammar {
namespace {

struct StringFormat {
  std::string_view name;
  std::string_view pattern;  ///< of the whole text; empty: the name says nothing about the text
};

// THE TABLE of formats. Each expression has only texts that the format has, though not all: no 29 February, no octets in
// brackets. Sources: RFC 3339, 5321, 4122, 2673, 4291, 3986, 6901, 4648.
constexpr StringFormat kFormats[] = {
    {"date-time",
     "[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0"
     "[1-9]|1[0-9]|2[0-8]))T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+]([01][0-9]|"
     "2[0-3]):[0-5][0-9])"},
    {"date",
     "[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0"
     "[1-9]|1[0-9]|2[0-8]))"},
    {"time", "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+]([01][0-9]|2[0-3]):[0-5][0-9])"},
    {"duration",
     "P([0-9]{1,4}W|([0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|[0-9]{1,4}D)(T("
     "[0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))?|T([0-9]{1,4}H(["
     "0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))"},
    {"email",
     "[A-Za-z0-9_%+-]+(\\.[A-Za-z0-9_%+-]+){0,7}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-"
     "z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,7}\\.[A-Za-z]{2,12}"},
    {"hostname", "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,7}"},
    {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
    {"ipv4",
     "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\\.(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){"
     "3}"},
    {"ipv6",
     "([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|([0-9a-f]{1,4}:){1,6}(:[0-9a-f]{1,4})|([0-9a-f]{1,4}:){1,7}:|::"
     "([0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,5})?"},
    {"uri",
     "[a-z][a-z0-9+.-]{0,20}://[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]"
     "{0,61}[A-Za-z0-9])?){0,7}(:[0-9]{1,4})?(/[A-Za-z0-9._~!$&'()*+,;=:@-]*)*(\\?[/?A-Za-z0-9._~!$&'("
     ")*+,;=:@-]*)?(#[/?A-Za-z0-9._~!$&'()*+,;=:@-]*)?"},
    {"json-pointer", "(/([^~/]|~[01])*)*"},
    {"byte", "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"},
    {"password", ""},
    {"binary", ""},
};

/// The pattern of the whole text: that of the schema, or that of its format. Empty: neither restricts it.
struct TextPattern {
  std::string text{};
  std::string path{};
};

TextPattern text_pattern(SchemaRules& rules, const OrderedJson& schema, const std::string& path) {
  const OrderedJson* pattern = SchemaRules::find(schema, "pattern");
  const OrderedJson* format = SchemaRules::find(schema, "format");
  if (pattern != nullptr && !pattern->is_string()) rules.refuse("must be a string", path + ".pattern");
  if (format != nullptr && !format->is_string()) rules.refuse("must be a string", path + ".format");
  if (rules.builder().failed()) return {};
  TextPattern of_format;
  if (format != nullptr) {
    const std::string name = format->get<std::string>();
    const auto known =
        std::find_if(std::begin(kFormats), std::end(kFormats), [&](const auto& one) { return one.name == name; });
    if (known == std::end(kFormats)) {
      rules.refuse(fmt::format("the format \"{}\" is not enforced; leave it out, or write a pattern", printable(name, 60)),
                   path + ".format");
    } else if (!known->pattern.empty()) {
      of_format = {"^(?:" + std::string(known->pattern) + ")$", path + ".format"};
    }
  }
  if (pattern == nullptr) return of_format;
  if (!of_format.text.empty())
    rules.refuse("a pattern and a format of one string cannot be joined; leave one out", path + ".format");
  return {pattern->get<std::string>(), path + ".pattern"};
}

void append_length(SchemaRules& rules, RuleId rule, LengthRange length) {
  GrammarBuilder& builder = rules.builder();
  JsonRules& json = rules.json();
  const NodeId inside = builder.append(builder.rule(rule).start, json.style().open);
  const RuleId character = length.max < 0 ? json.make_some_characters() : json.make_character();
  NodeId end =
      builder.append_rule(inside, builder.make_counted(character, length.min, length.max < 0 ? length.min : length.max));
  end = length.max < 0 ? json.append_rest_of_string(end) : builder.append(end, json.style().close);
  builder.add_empty(end, builder.rule(rule).final);
}

}  // namespace

RuleId string_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path) {
  GrammarBuilder& builder = rules.builder();
  const LengthRange length{rules.count(schema, "minLength", 0, path), rules.count(schema, "maxLength", kUnbounded, path)};
  const TextPattern pattern = text_pattern(rules, schema, path);
  if (builder.failed()) return 0;
  if (length.max >= 0 && length.min > length.max) return builder.make_rule();  // without any text
  if (pattern.text.empty() && length.is_free()) return rules.json().string();
  const RuleId rule = builder.make_rule();
  if (pattern.text.empty()) {
    append_length(rules, rule, length);
    return rule;
  }
  auto tree = parse_regex(pattern.text, builder.limits().max_depth);
  if (!tree) {
    rules.refuse(tree.error().message, pattern.path);
    return rule;
  }
  const JsonRules& json = rules.json();
  const NodeId inside = builder.append(builder.rule(rule).start, json.style().open);
  const NodeId end = append_pattern(builder, inside, pattern.text, length, json.spelling());
  builder.add_empty(builder.append(end, json.style().close), builder.rule(rule).final);
  return rule;
}

}  // namespace lathe::engine::grammar
