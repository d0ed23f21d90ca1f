// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/structured_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/log/printable.h"
#include "app/server/known_fields.h"
#include "engine/api/structured_outputs.h"

namespace lathe::app {
namespace {

using engine::Json;
using engine::OrderedJson;

/// A field of a request and the member of structured_outputs that it is.
struct NamedConstraint {
  std::string_view field, member;
};

// Fields whose value is a constraint of one kind.
constexpr std::array kNamedConstraints = {
    NamedConstraint{"guided_json", "json"},
    NamedConstraint{"guided_regex", "regex"},
    NamedConstraint{"guided_choice", "choice"},
    NamedConstraint{"guided_grammar", "grammar"},
    NamedConstraint{"json_schema", "json"},
    NamedConstraint{"grammar", "grammar"},
    NamedConstraint{"regex", "regex"},
    NamedConstraint{"ebnf", "grammar"},
    NamedConstraint{"structural_tag", "structural_tag"},
};

class StructuredReader {
 public:
  StructuredReader(RequestFields& body, const RequestBody& given) : body_(body), given_(given) {}

  StructuredFields read() {
    for (const NamedConstraint& one : kNamedConstraints) {
      const Json* value = body_.any(one.field);
      if (value != nullptr && asks(known_fields(), body_.object(), one.field))
        give(one.field, std::string(one.member), ordered(one.field), std::string(one.field));
    }
    read_structured_outputs();
    read_response_format();
    const auto blanks = body_.text("guided_whitespace_pattern");
    if (!fields_.own_path.empty() && !body_.failed()) {
      if (blanks) constraint_["whitespace_pattern"] = *blanks;
      fields_.json = engine::dump_json(constraint_);
    }
    return std::move(fields_);
  }

 private:
  /// A member of the body with its keys in the given order.
  OrderedJson ordered(std::string_view name) {
    auto value = given_.ordered(name);
    if (!value) body_.refuse(name, value.error().message);
    return value ? std::move(*value) : OrderedJson();
  }

  void give(std::string_view field, const std::string& member, OrderedJson value, std::string path) {
    if (!given_by_.empty()) {
      return body_.refuse(field, fmt::format("{} and {} constrain one answer; send one of them", given_by_, field));
    }
    given_by_ = field;
    constraint_[member] = std::move(value);
    fields_.own_path = "structured_outputs." + member;
    fields_.given_path = std::move(path);
  }

  void read_structured_outputs() {
    const Json* given = body_.object("structured_outputs");
    if (given == nullptr || given->empty()) return;
    if (!given_by_.empty()) return give("structured_outputs", "json", {}, {});
    given_by_ = "structured_outputs";
    constraint_ = ordered("structured_outputs");
    fields_.own_path = fields_.given_path = "structured_outputs";
  }

  void read_response_format() {
    const Json* format = body_.object("response_format");
    if (format == nullptr) return;
    RequestFields reader(*format, body_.path_of("response_format"));
    const std::string type = reader.text("type").value_or("");
    const OrderedJson given = ordered("response_format");
    if (type == "text") return take_over(reader);
    if (type == "json_schema") read_schema(reader, given);
    else if (type == "json_object" || type == "json") read_json(reader, given, type);
    else if (type == "regex") give_member(reader, given, "value", "regex");
    else if (type == "grammar") give_member(reader, given, given.contains("grammar") ? "grammar" : "value", "grammar");
    else if (type == "structural_tag")
      return give("response_format", "structural_tag", given, body_.path_of("response_format"));
    else
      reader.refuse("type",
                    fmt::format("must be \"text\", \"json_object\", \"json_schema\", \"structural_tag\", \"regex\" or "
                                "\"grammar\", got \"{}\"",
                                printable(type, 40)));
    take_over(reader);
  }

  void take_over(RequestFields& reader) {
    if (!reader.failed()) warn_of_unread_fields(reader, {});
    body_.take_over(reader);
  }

  void give_member(RequestFields& reader, const OrderedJson& given, const std::string& name, const std::string& member) {
    if (!reader.has(name)) return reader.refuse(name, "is missing");
    give("response_format", member, given[name], reader.path_of(name));
  }

  /// OpenAI's {"json_schema": {"name", "schema", "strict"}}, TGI's {"value": SCHEMA} and llama.cpp's {"schema": SCHEMA}.
  void read_schema(RequestFields& reader, const OrderedJson& given) {
    if (!reader.has("json_schema") && reader.has("schema")) return give_member(reader, given, "schema", "json");
    const char* name = !reader.has("json_schema") && reader.has("value") ? "value" : "json_schema";
    const Json* holder = reader.object(name);
    if (holder == nullptr) {
      if (!reader.failed()) reader.refuse("json_schema", "is missing");
      return;
    }
    RequestFields inside(*holder, reader.path_of(name));
    inside.text("name");
    inside.text("description");
    inside.flag("strict");  // every schema is followed strictly
    if (std::string_view(name) == "value" && !inside.has("schema")) {
      give("response_format", "json", given[name], reader.path_of(name));
    } else if (!inside.has("schema")) {
      inside.refuse("schema", "is missing");
    } else {
      give("response_format", "json", given[name]["schema"], inside.path_of("schema"));
    }
    if (inside.has("schema") && !inside.failed()) warn_of_unread_fields(inside, {});
    reader.take_over(inside);
  }

  void read_json(RequestFields& reader, const OrderedJson& given, const std::string& type) {
    for (const char* name : {"schema", "value"}) {
      if (reader.has(name)) return give_member(reader, given, name, "json");
    }
    if (type == "json") return reader.refuse("value", "is missing");
    give("response_format", "json_object", true, body_.path_of("response_format"));
  }

  RequestFields& body_;
  const RequestBody& given_;
  OrderedJson constraint_ = OrderedJson::object();
  std::string given_by_;
  StructuredFields fields_;
};

/// A constraint as a part of a structural tag; what it says of blanks goes to `settings`.
engine::Result<OrderedJson> content_format(const OrderedJson& given, const std::string& path, OrderedJson& settings) {
  OrderedJson format;
  for (const auto& [name, value] : given.items()) {
    if (value.is_null()) continue;
    if (name == "json" && value.is_string()) {
      LATHE_TRY(OrderedJson schema, engine::parse_ordered_json(value.get<std::string>(), path));
      format = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
    } else if (name == "json") {
      format = {{"type", "json_schema"}, {"json_schema", value}};
    } else if (name == "json_object") {
      format = {{"type", "json_schema"}, {"json_schema", {{"type", "object"}}}};
    } else if (name == "regex") {
      format = {{"type", "regex"}, {"pattern", value}};
    } else if (name == "grammar") {
      format = {{"type", "grammar"}, {"grammar", value}};
    } else if (name == "choice" && value.is_array()) {
      format = {{"type", "or"}, {"elements", OrderedJson::array()}};
      for (const OrderedJson& one : value) format["elements"].push_back({{"type", "const_string"}, {"value", one}});
    } else if (name == "structural_tag" && value.is_object() && value.contains("format")) {
      format = value["format"];
    } else if (name == "structural_tag" || name == "choice") {
      return engine::fail(engine::ErrorCode::invalid_argument,
                          "cannot be joined with tools that are strict or allowed; send one of them", path);
    } else {
      settings[name] = value;
    }
  }
  return format;
}

}  // namespace

engine::Error StructuredFields::in_given_names(engine::Error error) const {
  if (calls != nullptr && error.where.starts_with("structured_outputs")) {
    if (auto of_schema = engine::call_schema_error(*calls)) return *of_schema;
    const auto of_content = content.empty() ? engine::Result<void>() : engine::check_structured_outputs(content);
    if (of_content) error.where = "tools";
    else error = of_content.error();
  }
  if (own_path.empty()) return error;
  if (error.where.starts_with(own_path)) error.where = given_path + error.where.substr(own_path.size());
  else if (error.where == "structured_outputs") error.where = given_path;  // the constraint as a whole
  return error;
}

engine::Result<void> constrain_calls(StructuredFields& fields, engine::CallDemand calls,
                                     const engine::AnswerReading& reading) {
  OrderedJson settings = OrderedJson::object();
  if (!fields.json.empty() && !calls.is_required) {
    LATHE_TRY(const OrderedJson given, engine::parse_ordered_json(fields.json, fields.given_path));
    LATHE_TRY(calls.content, content_format(given, fields.given_path, settings));
    fields.content = fields.json;
  }
  LATHE_TRY(OrderedJson constraint, engine::call_grammar(calls, reading));
  constraint.update(settings);
  fields.json = engine::dump_json(constraint);
  fields.calls = std::make_shared<const engine::CallDemand>(std::move(calls));
  return {};
}

StructuredFields read_structured_fields(RequestFields& body, const RequestBody& given) {
  return StructuredReader(body, given).read();
}

}  // namespace lathe::app
