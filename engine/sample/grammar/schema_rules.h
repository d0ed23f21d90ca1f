// SPDX-License-Identifier: Apache-2.0
// SchemaRules: a JSON schema as rules of a grammar. What a keyword asks is in the grammar; a keyword that is not is refused.
#pragma once

#include <map>
#include <string>

#include "engine/api/json.h"
#include "engine/sample/grammar/json_rules.h"

namespace lathe::engine::grammar {

/// Objects have their properties in the order of the schema. Where a schema leaves open whether others may follow
/// (additionalProperties, items behind prefixItems), none do: answers to it are valid, and end.
class SchemaRules {
 public:
  /// Requires: `root` outlives the object.
  SchemaRules(JsonRules& json, const OrderedJson& root) : json_(&json), builder_(&json.builder()), root_(&root) {}

  /// The rule of the root. Errors: in the builder; `where` = the keyword's path below the root: ".properties.a.minLength".
  RuleId compile() { return rule_of(*root_, {}); }

  // ---- for the rules of the types
  /// The rule of a schema within the root. `path`: where it is, for errors.
  RuleId rule_of(const OrderedJson& schema, const std::string& path);
  JsonRules& json() const { return *json_; }
  GrammarBuilder& builder() const { return *builder_; }
  void refuse(const std::string& message, const std::string& path) { builder_->refuse(message, path); }
  /// A whole number of a keyword, `otherwise` without one; up to kMaxCount. Refuses other values.
  std::int32_t count(const OrderedJson& schema, const char* keyword, std::int32_t otherwise, const std::string& path);
  /// Null: the schema has no such keyword.
  static const OrderedJson* find(const OrderedJson& schema, const char* keyword);

 private:
  RuleId any_value();
  RuleId new_rule_of(const OrderedJson& schema, const std::string& path);
  void check_keywords(const OrderedJson& schema, const std::string& path);
  RuleId rule_of_reference(const std::string& reference, const std::string& path);
  const OrderedJson* resolve(const std::string& reference, const std::string& path);
  /// The schema with its $ref and allOf joined into it.
  OrderedJson flattened(const OrderedJson& schema, const std::string& path, int depth);
  void add(OrderedJson& schema, const OrderedJson& part, const std::string& path);
  bool add_alternatives(RuleId rule, const OrderedJson& schema, const char* keyword, const std::string& path);
  void check_exclusive(const OrderedJson& schema, const OrderedJson& list, const std::string& path);
  void add_constants(RuleId rule, const OrderedJson& schema, const std::string& path);
  void add_types(RuleId rule, const OrderedJson& schema, const std::string& path);
  RuleId rule_of_type(const std::string& type, const OrderedJson& schema, const std::string& path);

  JsonRules* json_;
  GrammarBuilder* builder_;
  const OrderedJson* root_;
  std::map<std::string, RuleId> known_;  ///< rules by the text of their schema
  int depth_ = 0;
};

// ---- rules of one type, a file each
RuleId object_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path);
RuleId array_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path);
RuleId string_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path);
RuleId number_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path, bool is_integer);

/// Whether a constant holds to the other keywords of its schema. Errors: invalid_argument, `where` = a keyword of which this
/// is not known.
Result<bool> constant_holds(const OrderedJson& value, const OrderedJson& schema);

}  // namespace lathe::engine::grammar
