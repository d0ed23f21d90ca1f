// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/schema_rules.h"

#include <fmt/format.h>

#include "engine/api/printable.h"
#include "engine/sample/grammar/schema_keywords.h"
#include "engine/sample/grammar/schema_merge.h"

namespace lathe::engine::grammar {
namespace {

constexpr int kMostReferences = 64;  // from one schema to the next before it says anything else

std::string shown(const OrderedJson& value) { return printable(dump_json(value), 80); }

/// A path's part, or a fragment of a URI, without its escapes.
std::string unescaped(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1')) {
      out += part[++i] == '0' ? '~' : '/';
    } else {
      out += part[i];
    }
  }
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string without_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    out += is_escape ? static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return out;
}

/// True if a schema's keywords, but for its references, say nothing about its values.
bool is_only(const OrderedJson& schema, std::string_view keyword) {
  for (const auto& [name, value] : schema.items()) {
    const SchemaKeyword* known = find_keyword(name);
    const bool is_note = name.starts_with("x-") || (known != nullptr && known->fate == KeywordFate::annotation);
    if (name != keyword && !is_note) return false;
  }
  return true;
}

}  // namespace

const OrderedJson* SchemaRules::find(const OrderedJson& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found == schema.end() ? nullptr : &*found;
}

std::int32_t SchemaRules::count(const OrderedJson& schema, const char* keyword, std::int32_t otherwise,
                                const std::string& path) {
  const OrderedJson* value = find(schema, keyword);
  if (value == nullptr) return otherwise;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number < 0 || number > kMaxCount || number != static_cast<double>(static_cast<std::int64_t>(number))) {
    refuse(fmt::format("must be a whole number from 0 to {}, got {}", kMaxCount, shown(*value)), path + "." + keyword);
    return otherwise;
  }
  return static_cast<std::int32_t>(number);
}

RuleId SchemaRules::any_value() { return json_->style().only_strings ? json_->string() : json_->value(); }

RuleId SchemaRules::rule_of(const OrderedJson& schema, const std::string& path) {
  if (builder_->failed()) return 0;
  if (schema == true) return any_value();
  if (schema == false) return builder_->make_rule();  // without any text
  if (!schema.is_object()) {
    refuse(fmt::format("must be a schema: an object, true or false, got {}", shown(schema)), path);
    return 0;
  }
  if (depth_ >= builder_->limits().max_depth) {
    refuse(fmt::format("more than {} schemas in one another", builder_->limits().max_depth), path);
    return 0;
  }
  const OrderedJson* reference = find(schema, "$ref");
  if (reference != nullptr && reference->is_string() && is_only(schema, "$ref"))
    return rule_of_reference(reference->get<std::string>(), path);
  // Schemas of one text are one rule. That also ends schemas that contain themselves when they are joined.
  const std::string text = dump_json(schema);
  const auto [known, is_new] = known_.try_emplace(text, -1);
  if (!is_new) return known->second;
  builder_->count(text.size() / 16);
  known->second = builder_->make_rule();
  const RuleId rule = known->second;
  ++depth_;
  const RuleId made = new_rule_of(schema, path);
  --depth_;
  if (!builder_->failed()) builder_->add_rule(builder_->rule(rule).start, made, builder_->rule(rule).final);
  return rule;
}

void SchemaRules::check_keywords(const OrderedJson& schema, const std::string& path) {
  for (const auto& [name, value] : schema.items()) {
    if (name.starts_with("x-")) continue;
    const SchemaKeyword* keyword = find_keyword(name);
    const std::string where = path + "." + printable(name, 60);
    if (keyword == nullptr) {
      refuse(
          "this keyword is not known, so it would not be enforced; leave it out, or begin its name with x- if it is a note",
          where);
    } else if (keyword->fate == KeywordFate::refused && value != false) {
      refuse("this keyword of JSON Schema is not enforced by structured outputs; leave it out", where);
    }
  }
}

RuleId SchemaRules::new_rule_of(const OrderedJson& schema, const std::string& path) {
  check_keywords(schema, path);
  const OrderedJson flat = flattened(schema, path, 0);
  const RuleId rule = builder_->make_rule();
  if (builder_->failed()) return rule;
  if (flat == false) return rule;
  if (add_alternatives(rule, flat, "anyOf", path) || add_alternatives(rule, flat, "oneOf", path)) return rule;
  if (flat.contains("const") || flat.contains("enum")) add_constants(rule, flat, path);
  else add_types(rule, flat, path);
  return rule;
}

// ---- references

RuleId SchemaRules::rule_of_reference(const std::string& reference, const std::string& path) {
  const std::string key = "$ref " + reference;
  const auto [known, is_new] = known_.try_emplace(key, -1);
  if (!is_new) return known->second;
  const OrderedJson* target = resolve(reference, path + ".$ref");
  if (target == nullptr) return 0;
  known->second = builder_->make_rule();
  const RuleId rule = known->second;
  const RuleId made = rule_of(*target, reference);
  if (!builder_->failed()) builder_->add_rule(builder_->rule(rule).start, made, builder_->rule(rule).final);
  return rule;
}

const OrderedJson* SchemaRules::resolve(const std::string& reference, const std::string& path) {
  if (!reference.starts_with('#')) {
    refuse(fmt::format("only references within the schema are read (#/$defs/NAME), got \"{}\"", printable(reference, 100)),
           path);
    return nullptr;
  }
  const std::string pointer = without_percents(std::string_view(reference).substr(1));
  const OrderedJson* at = root_;
  for (std::size_t begin = 0; begin < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    const std::string name = unescaped(std::string_view(pointer).substr(begin + 1, end - begin - 1));
    const OrderedJson* next = nullptr;
    if (pointer[begin] == '/' && at->is_object() && at->contains(name)) next = &at->at(name);
    if (pointer[begin] == '/' && at->is_array() && !name.empty() && name.size() < 8 &&
        name.find_first_not_of("0123456789") == name.npos && std::stoul(name) < at->size())
      next = &at->at(std::stoul(name));
    if (next == nullptr) {
      refuse(fmt::format("the schema has no {}", printable(reference, 100)), path);
      return nullptr;
    }
    at = next;
    begin = end;
  }
  return at;
}

void SchemaRules::add(OrderedJson& schema, const OrderedJson& part, const std::string& path) {
  if (schema == false || part == false) {
    schema = false;
  } else if (part.is_object()) {
    auto merged = merge_schemas(std::move(schema), part);
    if (merged) schema = std::move(*merged);
    else refuse(merged.error().message, path + "." + merged.error().where);
  } else if (part != true) {
    refuse("must be a schema: an object, true or false", path);
  }
}

OrderedJson SchemaRules::flattened(const OrderedJson& schema, const std::string& path, int depth) {
  if (depth > kMostReferences) {
    refuse(fmt::format("more than {} references or allOf in one another", kMostReferences), path);
    return false;
  }
  if (!schema.is_object()) return schema;
  check_keywords(schema, path);
  OrderedJson flat = schema;
  flat.erase("$ref");
  flat.erase("allOf");
  if (const OrderedJson* reference = find(schema, "$ref"); reference != nullptr && !builder_->failed()) {
    const OrderedJson* target = reference->is_string() ? resolve(reference->get<std::string>(), path + ".$ref") : nullptr;
    if (target == nullptr) refuse("must be a string", path + ".$ref");
    else add(flat, flattened(*target, path + ".$ref", depth + 1), path);
  }
  const OrderedJson* all = find(schema, "allOf");
  if (all == nullptr) return flat;
  if (!all->is_array() || all->empty()) refuse("must be a list of schemas", path + ".allOf");
  for (std::size_t i = 0; i < all->size() && !builder_->failed(); ++i) {
    const std::string where = fmt::format("{}.allOf[{}]", path, i);
    add(flat, flattened((*all)[i], where, depth + 1), where);
  }
  return flat;
}

// ---- alternatives and constants

bool SchemaRules::add_alternatives(RuleId rule, const OrderedJson& schema, const char* keyword, const std::string& path) {
  const OrderedJson* found = find(schema, keyword);
  if (found == nullptr) return false;
  const std::string where = path + "." + keyword;
  const OrderedJson list = *found;
  if (!list.is_array() || list.empty()) refuse("must be a list of schemas", where);
  OrderedJson others = schema;
  others.erase(keyword);
  if (keyword == std::string_view("oneOf")) check_exclusive(others, list, where);
  const bool is_alone = is_only(others, {});
  for (std::size_t i = 0; i < list.size() && !builder_->failed(); ++i) {
    const std::string branch = fmt::format("{}[{}]", where, i);
    const OrderedJson joined = is_alone ? list[i] : OrderedJson{{"allOf", OrderedJson::array({others, list[i]})}};
    const RuleId made = rule_of(joined, branch);
    if (!builder_->failed()) builder_->add_rule(builder_->rule(rule).start, made, builder_->rule(rule).final);
  }
  return true;
}

/// Refuses a oneOf of which a value may hold to two alternatives: the mask could not tell.
void SchemaRules::check_exclusive(const OrderedJson& others, const OrderedJson& list, const std::string& path) {
  std::vector<OrderedJson> flat;
  for (std::size_t i = 0; i < list.size() && !builder_->failed(); ++i) {
    OrderedJson branch = flattened(list[i], fmt::format("{}[{}]", path, i), 0);
    if (branch.is_object() && !others.empty()) add(branch, others, path);
    flat.push_back(std::move(branch));
  }
  for (std::size_t i = 0; i < flat.size() && !builder_->failed(); ++i) {
    builder_->count(flat.size() / 8);
    for (std::size_t k = i + 1; k < flat.size(); ++k) {
      if (are_disjoint(flat[i], flat[k])) continue;
      return refuse(
          fmt::format("alternatives {} and {} may hold for one value, which oneOf forbids and a mask cannot see; use "
                      "anyOf, or give each a required property with a constant of its own",
                      i, k),
          path);
    }
  }
}

void SchemaRules::add_constants(RuleId rule, const OrderedJson& schema, const std::string& path) {
  const bool has_const = schema.contains("const");
  const OrderedJson values = has_const ? OrderedJson::array({schema["const"]}) : schema["enum"];
  if (!values.is_array() || values.empty()) return refuse("must be a list of values", path + ".enum");
  for (std::size_t i = 0; i < values.size() && !builder_->failed(); ++i) {
    if (json_->style().only_strings && !values[i].is_string()) continue;
    const auto holds = constant_holds(values[i], schema);
    if (!holds) return refuse(holds.error().message, path + "." + holds.error().where);
    if (!*holds) continue;
    const NodeId end = json_->append_constant(builder_->rule(rule).start, values[i]);
    builder_->add_empty(end, builder_->rule(rule).final);
  }
}

// ---- types

void SchemaRules::add_types(RuleId rule, const OrderedJson& schema, const std::string& path) {
  auto types = types_of(schema);
  if (!types) return refuse(types.error().message, path + "." + types.error().where);
  const bool is_free = types->empty() && !schema.contains("type");
  if (is_free) return builder_->add_rule(builder_->rule(rule).start, any_value(), builder_->rule(rule).final);
  if (schema.value("nullable", OrderedJson(false)) == true) types->emplace_back("null");
  for (const std::string& type : *types) {
    if (json_->style().only_strings && type != "string") continue;
    const RuleId made = rule_of_type(type, schema, path);
    if (builder_->failed()) return;
    builder_->add_rule(builder_->rule(rule).start, made, builder_->rule(rule).final);
  }
}

RuleId SchemaRules::rule_of_type(const std::string& type, const OrderedJson& schema, const std::string& path) {
  if (type == "object") return object_rule(*this, schema, path);
  if (type == "array") return array_rule(*this, schema, path);
  if (type == "string") return string_rule(*this, schema, path);
  if (type == "null") return json_->literal("null");
  if (type != "boolean") return number_rule(*this, schema, path, type == "integer");
  const RuleId rule = builder_->make_rule();
  for (const char* text : {"true", "false"})
    builder_->add_rule(builder_->rule(rule).start, json_->literal(text), builder_->rule(rule).final);
  return rule;
}

}  // namespace lathe::engine::grammar
