// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/argument_types.h"

#include <algorithm>
#include <vector>

#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/python_literals.h"
#include "engine/text/tool_calls/unique_keys.h"

namespace lathe::engine {
namespace {

/// Returns the member with this name if `json` is an object that has it, else null.
const Json* member(const Json& json, std::string_view name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

constexpr int kMaxDepth = 16, kMaxSchemas = 1024;

/// Finds schemas within the parameters of a tool.
class References {
 public:
  explicit References(const Json& root) : root_(root) {}

  /// Returns the schema that "$ref" points to, or null.
  const Json* target_of(const Json& schema) const {
    const Json* reference = member(schema, "$ref");
    if (reference == nullptr || !reference->is_string()) return nullptr;
    std::string_view path = reference->get_ref<const std::string&>();
    if (path == "#") return &root_;
    if (!path.starts_with("#/")) return nullptr;
    const Json* found = &root_;
    for (path.remove_prefix(2); found != nullptr;) {
      const std::size_t slash = path.find('/');
      found = step(*found, path.substr(0, slash));
      if (slash == path.npos) break;
      path.remove_prefix(slash + 1);
    }
    return found;
  }

  /// Returns the schema of an object's member, under "properties" or "additionalProperties", also in the parts of a union.
  const Json* property_of(const Json& schema, std::string_view name, int depth = kMaxDepth) const {
    if (depth == 0) return nullptr;
    if (const Json* properties = member(schema, "properties")) {
      if (const Json* property = member(*properties, name)) return property;
    }
    if (const Json* target = target_of(schema)) {
      if (const Json* property = property_of(*target, name, depth - 1)) return property;
    }
    for (const char* parts : {"allOf", "anyOf", "oneOf"}) {
      const Json* schemas = member(schema, parts);
      for (std::size_t i = 0; schemas != nullptr && schemas->is_array() && i < std::min<std::size_t>(schemas->size(), 8);
           ++i) {
        if (const Json* property = property_of((*schemas)[i], name, std::min(depth - 1, 4))) return property;
      }
    }
    const Json* others = member(schema, "additionalProperties");
    return others != nullptr && others->is_object() ? others : nullptr;
  }

 private:
  /// Follows one step of a JSON pointer (RFC 6901).
  static const Json* step(const Json& json, std::string_view name) {
    std::string plain;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool escapes = name[i] == '~' && i + 1 < name.size() && (name[i + 1] == '0' || name[i + 1] == '1');
      plain += escapes ? (name[++i] == '0' ? '~' : '/') : name[i];
    }
    if (!json.is_array()) return member(json, plain);
    const bool is_index = !plain.empty() && plain.size() < 6 && plain.find_first_not_of("0123456789") == plain.npos;
    const std::size_t index = is_index ? static_cast<std::size_t>(std::stoul(plain)) : json.size();
    return index < json.size() ? &json[index] : nullptr;
  }

  const Json& root_;
};

/// AllowedTypes: whether a schema allows texts and null, including its unions and references.
class AllowedTypes {
 public:
  AllowedTypes(const Json& schema, const References& references) : references_(references) {
    read(schema, kMaxDepth, allowed_);
  }

  bool allows_text() const { return allowed_.text; }
  bool allows_null() const { return allowed_.null; }
  bool allows_container() const { return allows_container_; }
  /// Returns the non-text value of an enum or const whose JSON is `text`, or null.
  const Json* spelled(std::string_view text) const {
    const auto found = std::find_if(values_.begin(), values_.end(),
                                    [&](const Json* value) { return !value->is_string() && dump_json(*value) == text; });
    return found == values_.end() ? nullptr : *found;
  }

 private:
  /// `is_said`: the schema names types; if none is named, the form of the text decides.
  struct Allowed {
    bool text = false, null = false, is_said = false;
  };

  void read(const Json& schema, int depth, Allowed& allowed) {
    if (depth == 0 || ++n_schemas_ > kMaxSchemas || !schema.is_object()) return;
    if (const Json* type = member(schema, "type")) read_type(*type, allowed);
    allows_container_ = allows_container_ || schema.contains("properties") || schema.contains("items");
    if (const Json* nullable = member(schema, "nullable"); nullable != nullptr && *nullable == true) allowed.null = true;
    if (const Json* value = member(schema, "const")) read_value(*value, allowed);
    if (const Json* values = member(schema, "enum"); values != nullptr && values->is_array()) {
      for (const Json& value : *values) read_value(value, allowed);
    }
    for (const char* name : {"anyOf", "oneOf"}) {
      const Json* schemas = member(schema, name);
      for (std::size_t i = 0; schemas != nullptr && schemas->is_array() && i < schemas->size(); ++i)
        read((*schemas)[i], depth - 1, allowed);
    }
    const Json* schemas = member(schema, "allOf");
    if (schemas != nullptr && schemas->is_array()) read_all(*schemas, depth, allowed);
    if (const Json* target = references_.target_of(schema)) read(*target, depth - 1, allowed);
  }

  /// Reads "allOf": all schemas apply, so a text or null must be allowed by each one that names types.
  void read_all(const Json& schemas, int depth, Allowed& allowed) {
    Allowed common = allowed.is_said ? allowed : Allowed{true, true, false};
    for (const Json& schema : schemas) {
      Allowed one;
      read(schema, depth - 1, one);
      if (one.is_said) common = {common.text && one.text, common.null && one.null, true};
    }
    if (common.is_said) allowed = common;
  }

  void read_type(const Json& type, Allowed& allowed) {
    if (type.is_array()) {
      for (const Json& one : type) {
        if (one.is_string()) read_type(one, allowed);
      }
    } else if (type.is_string()) {
      allowed.is_said = true;
      allowed.text = allowed.text || type == "string";
      allowed.null = allowed.null || type == "null";
      allows_container_ = allows_container_ || type == "object" || type == "array";
    }
  }
  void read_value(const Json& value, Allowed& allowed) {
    allowed.is_said = true;
    allowed.text = allowed.text || value.is_string();
    allowed.null = allowed.null || value.is_null();
    allows_container_ = allows_container_ || value.is_structured();
    values_.push_back(&value);
  }

  const References& references_;
  std::vector<const Json*> values_;
  int n_schemas_ = 0;
  Allowed allowed_;
  bool allows_container_ = false;  ///< objects or arrays
};

}  // namespace

ArgumentTypes::ArgumentTypes(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    const Json* function = member(tool, "function");
    const Json* name = function == nullptr ? nullptr : member(*function, "name");
    if (name == nullptr || !name->is_string()) continue;
    const Json* parameters = member(*function, "parameters");
    parameters_[name->get<std::string>()] = parameters == nullptr ? Json() : *parameters;
  }
}

std::string ArgumentTypes::json_of(std::string_view tool, std::string_view argument, std::string_view text) const {
  const std::string_view bare = trimmed(text);
  auto json = json_with_unique_keys(bare);
  if (const auto found = parameters_.find(tool); found != parameters_.end()) {
    const References references(found->second);
    if (const Json* property = references.property_of(found->second, argument)) {
      const AllowedTypes types(*property, references);
      if (types.allows_null() && bare == "null") return "null";
      if (const Json* value = types.spelled(bare)) return dump_json(*value);
      if (types.allows_text()) return json_string(text);
      if (!json && types.allows_container()) json = json_of_python_container(bare);
    }
  }
  if (bare == "True") return "true";
  if (bare == "False") return "false";
  if (bare == "None") return "null";
  return json ? std::move(*json) : json_string(text);
}

bool ArgumentTypes::names_tool(std::string_view name) const { return parameters_.find(name) != parameters_.end(); }

ArgumentTypes::BareText ArgumentTypes::bare_text_of(std::string_view tool, std::string_view argument) const {
  const auto found = parameters_.find(tool);
  if (found == parameters_.end()) return {};
  const References references(found->second);
  const Json* property = references.property_of(found->second, argument);
  if (property == nullptr) return {};
  const AllowedTypes types(*property, references);
  return {types.allows_text(), types.allows_null()};
}

bool ArgumentTypes::may_name_tool(std::string_view beginning) const {
  return parameters_.empty() || std::any_of(parameters_.begin(), parameters_.end(),
                                            [&](const auto& tool) { return tool.first.starts_with(beginning); });
}

std::string json_string(std::string_view text) { return dump_json(Json(std::string(text))); }

}  // namespace lathe::engine
