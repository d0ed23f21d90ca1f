// SPDX-License-Identifier: Apache-2.0
// Arrays of a schema: the items and how many there are.
#include <fmt/format.h>

#include <algorithm>

#include "engine/sample/grammar/schema_rules.h"

namespace lathe::engine::grammar {
namespace {

struct ArrayItems {
  std::vector<RuleId> first;  ///< prefixItems
  RuleId rest = -1;           ///< each item behind them; -1: there are none
  std::int32_t min = 0, max = kUnbounded;
};

/// `items` as a list is the prefixItems of older drafts, and `additionalItems` then what is `items` now.
ArrayItems read_items(SchemaRules& rules, const OrderedJson& schema, const std::string& path) {
  ArrayItems out{.first = {},
                 .min = rules.count(schema, "minItems", 0, path),
                 .max = rules.count(schema, "maxItems", kUnbounded, path)};
  const OrderedJson* items = SchemaRules::find(schema, "items");
  const bool is_older = items != nullptr && items->is_array();
  const char* prefix_keyword = is_older ? "items" : "prefixItems";
  const char* rest_keyword = is_older ? "additionalItems" : "items";
  const OrderedJson* prefix = SchemaRules::find(schema, prefix_keyword);
  if (prefix != nullptr && !prefix->is_array()) rules.refuse("must be a list of schemas", path + "." + prefix_keyword);
  for (std::size_t i = 0; prefix != nullptr && i < prefix->size() && !rules.builder().failed(); ++i)
    out.first.push_back(rules.rule_of((*prefix)[i], fmt::format("{}.{}[{}]", path, prefix_keyword, i)));
  const OrderedJson* rest = SchemaRules::find(schema, rest_keyword);
  if (rest != nullptr && *rest != false) out.rest = rules.rule_of(*rest, path + "." + rest_keyword);
  if (rest == nullptr && prefix == nullptr) out.rest = rules.json().value();
  return out;
}

}  // namespace

RuleId array_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path) {
  GrammarBuilder& builder = rules.builder();
  JsonRules& json = rules.json();
  const ArrayItems items = read_items(rules, schema, path);
  if (builder.failed()) return 0;
  const RuleId rule = builder.make_rule();
  const auto n_first = static_cast<std::int32_t>(items.first.size());
  const std::int32_t most = items.rest >= 0 ? items.max : items.max < 0 ? n_first : std::min(items.max, n_first);
  if (most >= 0 && items.min > most) return rule;  // without any text
  const NodeId open = json.append_open(builder.rule(rule).start, '['), end = builder.add_node();
  builder.add_empty(json.append_close(end, ']'), builder.rule(rule).final);
  if (items.min == 0) builder.add_bytes(open, ']', ']', builder.rule(rule).final);
  NodeId at = open;
  std::int32_t n = 0;
  for (; n < n_first && (most < 0 || n < most); ++n) {
    if (n > 0 && n >= items.min) builder.add_empty(at, end);
    at = builder.append_rule(n == 0 ? at : json.append_comma(at), items.first[static_cast<std::size_t>(n)]);
  }
  if (n > 0 && n >= items.min) builder.add_empty(at, end);
  if (items.rest < 0 || (most >= 0 && n >= most)) return rule;
  if (n == 0) {
    at = builder.append_rule(at, items.rest);
    n = 1;
  }
  const RuleId next = builder.make_rule();
  builder.add_rule(json.append_comma(builder.rule(next).start), items.rest, builder.rule(next).final);
  at = builder.append_repeat(at, next, std::max(0, items.min - n), most < 0 ? kUnbounded : most - n);
  builder.add_empty(at, end);
  return rule;
}

}  // namespace lathe::engine::grammar
