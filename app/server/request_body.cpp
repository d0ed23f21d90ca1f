// SPDX-License-Identifier: Apache-2.0
#include "app/server/request_body.h"

#include <fmt/format.h>

#include "app/log/printable.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;

std::string text_of(const KnownField* field) {
  if (field == nullptr) return "is unknown to this server, and was ignored";
  if (field->fate == FieldFate::served) return "has no effect here, and was ignored";
  return "is not supported, and was ignored";
}

/// Warns of an ignored field; false if the limit of warnings is reached.
bool note_unread(const std::vector<FieldWarning>& warnings, const std::function<void(std::string)>& warn,
                 const KnownField* field) {
  if (warnings.size() < RequestFields::kMaxWarnings) warn(text_of(field));
  return warnings.size() < RequestFields::kMaxWarnings;
}

}  // namespace

engine::Result<RequestBody> RequestBody::read(std::string_view text, std::span<const KnownField> table) {
  RequestBody body;
  body.text_ = text;
  body.table_ = table;
  LATHE_TRY(body.fields_, engine::parse_json(text, "body"));
  if (!body.fields_.is_object()) return engine::fail(ErrorCode::invalid_argument, "the body must be a JSON object", "body");
  LATHE_TRY_VOID(body.move_options());
  LATHE_TRY_VOID(body.move_aliases());
  return body;
}

/// Moves the served members of `options` to the body; warns of the other ones.
engine::Result<void> RequestBody::move_options() {
  for (const KnownField& field : table_) {
    const std::string name(field.name);
    if (field.fate != FieldFate::options || !asks(table_, fields_, name)) continue;
    const Json options = std::move(fields_[name]);
    fields_.erase(name);
    if (!options.is_object()) return engine::fail(ErrorCode::invalid_argument, "must be an object", name);
    for (const auto& [key, value] : options.items()) {
      const KnownField* option = find_field(option_fields(), key);
      const std::string path = name + "." + printable(key, 100);
      if (option != nullptr && option->fate == FieldFate::served) {
        LATHE_TRY_VOID(move(value, *option, path, option->as.empty() ? option->name : option->as));
      } else if (asks(option_fields(), options, key)) {
        const auto warn = [&](std::string words) { warnings_.push_back({path, std::move(words)}); };
        if (!note_unread(warnings_, warn, option)) break;
      }
    }
  }
  return {};
}

engine::Result<void> RequestBody::move_aliases() {
  for (const KnownField& field : table_) {
    if (field.fate != FieldFate::alias) continue;
    const auto found = fields_.find(std::string(field.name));
    if (found == fields_.end()) continue;
    const Json value = std::move(*found);
    fields_.erase(found);
    LATHE_TRY_VOID(move(value, field, std::string(field.name), field.as));
  }
  return {};
}

engine::Result<void> RequestBody::move(const Json& value, const KnownField& from, const std::string& path,
                                       std::string_view to) {
  if (value.is_null() || value == false || value == "" || (value.is_array() && value.empty())) return {};
  const std::string name(to);
  const auto there = fields_.find(name);
  if (is_among(from.as_null, value)) {
    if (there == fields_.end()) fields_[name] = nullptr;
    return {};
  }
  if (there != fields_.end() && !there->is_null()) {
    if (*there == value) return {};
    const auto given = given_as_.find(name);
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("\"{}\" and \"{}\" are the same field and have different values; send one of them", path,
                                    given == given_as_.end() ? name : given->second),
                        path);
  }
  fields_[name] = value;
  given_as_[name] = path;
  return {};
}

void RequestBody::set(const std::string& name, Json value, std::string given_as) {
  fields_[name] = std::move(value);
  if (given_as != name) given_as_[name] = std::move(given_as);
}

void RequestBody::set_ordered(const std::string& name, engine::OrderedJson value, std::string given_as) {
  set(name, Json(value), std::move(given_as));
  ordered_[name] = std::move(value);
}

engine::Result<engine::OrderedJson> RequestBody::ordered(std::string_view name) const {
  if (const auto found = ordered_.find(name); found != ordered_.end()) return found->second;
  LATHE_TRY(const engine::OrderedJson whole, engine::parse_ordered_json(text_, "body"));
  const auto found = whole.find(std::string(name));
  return found == whole.end() ? engine::OrderedJson() : *found;
}

void RequestBody::warn(const std::vector<FieldWarning>& warnings) {
  warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
}

engine::Error RequestBody::in_given_names(engine::Error error) const {
  for (std::size_t end = error.where.size(); end != std::string::npos && end > 0;
       end = error.where.find_last_of(".[", end - 1)) {
    const auto given = given_as_.find(error.where.substr(0, end));
    if (given == given_as_.end()) continue;
    error.where.replace(0, end, given->second);
    break;
  }
  return error;
}

void refuse_unserved_fields(RequestFields& object, std::initializer_list<std::string_view> also,
                            std::span<const KnownField> table) {
  const auto refuse_if_asked = [&](std::string_view name) {
    if (asks(table, object.object(), name)) object.refuse(name, "is not supported; send the request without it");
  };
  for (const KnownField& field : table) {
    if (field.fate == FieldFate::refused) refuse_if_asked(field.name);
  }
  for (const std::string_view name : also) refuse_if_asked(name);
}

void warn_of_unread_fields(RequestFields& object, std::span<const KnownField> table) {
  object.for_each_unread([&](const std::string& name) {
    const KnownField* field = find_field(table, name);
    if (field != nullptr && field->fate == FieldFate::harmless) return true;
    if (!asks(table, object.object(), name)) return true;
    return note_unread(
        object.warnings(), [&](std::string words) { object.warn(printable(name, 100), std::move(words)); }, field);
  });
}

void warn_of_unknown_fields(RequestFields& body) {
  body.for_each_unread([&](const std::string& name) {
    if (find_field(known_fields(), name) != nullptr || !asks(known_fields(), body.object(), name)) return true;
    return note_unread(
        body.warnings(), [&](std::string words) { body.warn(printable(name, 100), std::move(words)); }, nullptr);
  });
}

}  // namespace lathe::app
