// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/schema_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/printable.h"
#include "engine/sample/grammar/schema_keywords.h"

namespace lathe::engine::grammar {
namespace {

constexpr std::size_t kMostAlternatives = 64;

tl::unexpected<Error> refuse(std::string message, std::string where) {
  return fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
}

OrderedJson both(const OrderedJson& a, const OrderedJson& b) {
  if (a == b) return a;
  return {{"allOf", OrderedJson::array({a, b})}};
}

bool is_type_of(const std::string& type, const OrderedJson& value) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (!value.is_number()) return false;
  return type == "number" || value.is_number_integer() ||
         value.get<double>() == static_cast<double>(static_cast<std::int64_t>(value.get<double>()));
}

OrderedJson list_of_types(const OrderedJson& type) { return type.is_array() ? type : OrderedJson::array({type}); }

OrderedJson common_types(const OrderedJson& a, const OrderedJson& b) {
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& x : list_of_types(a)) {
    for (const OrderedJson& y : list_of_types(b)) {
      const bool is_narrower = x == "integer" && y == "number", is_wider = x == "number" && y == "integer";
      if ((x == y || is_narrower || is_wider) && !out.is_discarded()) {
        const OrderedJson& both_have = is_wider ? y : x;
        if (std::find(out.begin(), out.end(), both_have) == out.end()) out.push_back(both_have);
      }
    }
  }
  return out;
}

/// The schema of a property that a schema does not name: its additionalProperties; null: any value.
const OrderedJson* additional_of(const OrderedJson& schema) {
  const auto found = schema.find("additionalProperties");
  return found == schema.end() || *found == true ? nullptr : &*found;
}

/// A property that one of two schemas names must hold to the additionalProperties of the other as well.
void narrow_properties(OrderedJson& a, const OrderedJson& b) {
  const OrderedJson* additional = additional_of(b);
  const auto properties = a.find("properties");
  if (additional == nullptr || properties == a.end() || !properties->is_object()) return;
  const auto others = b.find("properties");
  for (auto property = properties->begin(); property != properties->end(); ++property) {
    if (others == b.end() || !others->contains(property.key())) *property = both(*property, *additional);
  }
}

OrderedJson joined_properties(OrderedJson a, const OrderedJson& b) {
  for (const auto& [name, schema] : b.items()) a[name] = a.contains(name) ? both(a[name], schema) : schema;
  return a;
}

OrderedJson joined_lists(OrderedJson a, const OrderedJson& b) {
  for (const OrderedJson& item : b) {
    if (std::find(a.begin(), a.end(), item) == a.end()) a.push_back(item);
  }
  return a;
}

OrderedJson common_items(const OrderedJson& a, const OrderedJson& b) {
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& item : a) {
    if (std::find(b.begin(), b.end(), item) != b.end()) out.push_back(item);
  }
  return out;
}

Result<OrderedJson> crossed(const OrderedJson& a, const OrderedJson& b, const std::string& keyword) {
  if (a.size() * b.size() > kMostAlternatives) {
    return refuse(
        fmt::format("two lists of {} and {} alternatives have more than {} pairs", a.size(), b.size(), kMostAlternatives),
        keyword);
  }
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& x : a) {
    for (const OrderedJson& y : b) out.push_back(both(x, y));
  }
  return out;
}

bool is_among(std::string_view keyword, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), keyword) != list.end();
}

Result<OrderedJson> joined(const std::string& keyword, const OrderedJson& a, const OrderedJson& b) {
  const SchemaKeyword* known = find_keyword(keyword);
  if (a == b || (known != nullptr && known->fate == KeywordFate::annotation)) return a;
  if (keyword == "type") return common_types(a, b);
  if (keyword == "enum" && a.is_array() && b.is_array()) return common_items(a, b);
  if (keyword == "const") return refuse("two different constants contradict each other", keyword);
  if (is_among(keyword, {"properties", "patternProperties"}) && a.is_object() && b.is_object())
    return joined_properties(a, b);
  if (is_among(keyword, {"required", "allOf"}) && a.is_array() && b.is_array()) return joined_lists(a, b);
  if (is_among(keyword, {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}) && a.is_number() &&
      b.is_number())
    return a < b ? b : a;
  if (is_among(keyword, {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}) && a.is_number() &&
      b.is_number())
    return a < b ? a : b;
  if (is_among(keyword, {"items", "additionalProperties", "propertyNames"})) return both(a, b);
  if (keyword == "nullable") return a == true && b == true;
  if (keyword == "anyOf" && a.is_array() && b.is_array()) return crossed(a, b, keyword);
  return refuse("two schemas for one value (allOf, or next to a $ref) differ in this keyword, and cannot be joined",
                keyword);
}

bool values_are_disjoint(const OrderedJson& a, const OrderedJson& b) {
  const auto values = [](const OrderedJson& schema) {
    const auto constant = schema.find("const");
    if (constant != schema.end()) return OrderedJson(OrderedJson::array({*constant}));
    const auto list = schema.find("enum");
    return list != schema.end() && list->is_array() ? *list : OrderedJson(nullptr);
  };
  const OrderedJson x = values(a), y = values(b);
  return x.is_array() && y.is_array() && common_items(x, y).empty();
}

bool types_are_disjoint(const OrderedJson& a, const OrderedJson& b) {
  const auto x = types_of(a), y = types_of(b);
  if (!x || !y) return false;
  // The types that keywords only suggest bind nobody; those of constants do.
  const auto bound = [](const OrderedJson& schema) {
    return schema.contains("type") || schema.contains("const") || schema.contains("enum");
  };
  return bound(a) && bound(b) && common_types(OrderedJson(*x), OrderedJson(*y)).empty();
}

bool is_required(const OrderedJson& schema, const std::string& name) {
  const auto found = schema.find("required");
  return found != schema.end() && found->is_array() && std::find(found->begin(), found->end(), name) != found->end();
}

bool forbids(const OrderedJson& schema, const std::string& name) {
  const auto additional = schema.find("additionalProperties");
  const auto properties = schema.find("properties");
  return additional != schema.end() && *additional == false && !schema.contains("patternProperties") &&
         (properties == schema.end() || !properties->contains(name));
}

bool properties_are_disjoint(const OrderedJson& a, const OrderedJson& b) {
  const auto is_object = [](const OrderedJson& schema) { return schema.contains("type") && schema["type"] == "object"; };
  const auto x = a.find("properties"), y = b.find("properties");
  if (!is_object(a) || !is_object(b) || x == a.end() || !x->is_object()) return false;
  for (const auto& [name, schema] : x->items()) {
    if (is_required(a, name) && forbids(b, name)) return true;
    const bool is_shared = y != b.end() && y->is_object() && y->contains(name);
    if (is_shared && is_required(a, name) && is_required(b, name) && are_disjoint(schema, (*y)[name])) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> types_of(const OrderedJson& schema) {
  static constexpr std::array<std::string_view, 7> kTypes = {"object",  "array",   "string", "number",
                                                             "integer", "boolean", "null"};
  std::vector<std::string> types;
  const auto given = schema.find("type");
  if (given != schema.end()) {
    for (const OrderedJson& type : list_of_types(*given)) {
      const bool is_known =
          type.is_string() && std::find(kTypes.begin(), kTypes.end(), type.get<std::string>()) != kTypes.end();
      if (!is_known) {
        return refuse(fmt::format("must be one of object, array, string, number, integer, boolean and null, or a list of "
                                  "these, got {}",
                                  printable(dump_json(type), 80)),
                      "type");
      }
      types.push_back(type.get<std::string>());
    }
    return types;
  }
  const auto values =
      schema.contains("const") ? OrderedJson::array({schema["const"]}) : schema.value("enum", OrderedJson::array());
  for (const std::string_view type : kTypes) {
    const bool is_of_value =
        std::any_of(values.begin(), values.end(), [&](const auto& value) { return is_type_of(std::string(type), value); });
    const bool is_of_keyword =
        values.empty() && std::any_of(schema.items().begin(), schema.items().end(), [&](const auto& item) {
          const SchemaKeyword* keyword = find_keyword(item.key());
          return keyword != nullptr && keyword->type == type;
        });
    if ((is_of_value || is_of_keyword) && !(type == "integer" && values.empty())) types.emplace_back(type);
  }
  return types;
}

Result<OrderedJson> merge_schemas(OrderedJson a, const OrderedJson& b) {
  OrderedJson other = b;
  narrow_properties(other, a);
  narrow_properties(a, b);
  for (const auto& [keyword, value] : other.items()) {
    if (!a.contains(keyword)) {
      a[keyword] = value;
      continue;
    }
    LATHE_TRY(OrderedJson both_have, joined(keyword, a[keyword], value));
    a[keyword] = std::move(both_have);
  }
  return a;
}

bool are_disjoint(const OrderedJson& a, const OrderedJson& b) {
  if (a == false || b == false) return true;
  if (!a.is_object() || !b.is_object()) return false;
  return values_are_disjoint(a, b) || types_are_disjoint(a, b) || properties_are_disjoint(a, b);
}

}  // namespace lathe::engine::grammar
