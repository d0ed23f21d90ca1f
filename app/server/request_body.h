// SPDX-License-Identifier: Apache-2.0
// RequestBody: the fields of a request, with the names of other servers translated to those that this server reads.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/server/known_fields.h"
#include "app/server/request_fields.h"

namespace lathe::app {

class RequestBody {
 public:
  /// Reads a body with the fields of `table`. Requires: `text` and `table` outlive this object. Errors: invalid_argument if
  /// the text is not a JSON object within the limits, or if two names of one field have different values.
  static engine::Result<RequestBody> read(std::string_view text, std::span<const KnownField> table = known_fields());

  /// Returns a reader whose errors use the names of the request. Requires: this object outlives the reader.
  RequestFields reader() const { return RequestFields(fields_, {}, &given_as_); }
  const engine::Json& fields() const { return fields_; }
  /// Sets a field to a value that a dialect has translated from its field `given_as`. Requires: no reader exists.
  void set(const std::string& name, engine::Json value, std::string given_as);
  /// As set(), for a value whose members keep their order: ordered() returns it.
  void set_ordered(const std::string& name, engine::OrderedJson value, std::string given_as);
  /// Errors inside of `name`, which readers call so ("format.json_schema.schema"), are those of the request's `given_as`.
  void name_inside(std::string name, std::string given_as) { given_as_[std::move(name)] = std::move(given_as); }
  /// Returns a field with its members in the order of the request, null if there is none. Errors: those of
  /// engine::parse_ordered_json().
  engine::Result<engine::OrderedJson> ordered(std::string_view name) const;
  /// Adds warnings of what a dialect has translated.
  void warn(const std::vector<FieldWarning>& warnings);
  /// Warnings of the members of `options` that are ignored, and those of the dialect.
  const std::vector<FieldWarning>& warnings() const { return warnings_; }
  /// Returns an error with its field, or the field around it, under the name that the request used.
  engine::Error in_given_names(engine::Error error) const;

 private:
  engine::Result<void> move_options();
  engine::Result<void> move_aliases();
  engine::Result<void> move(const engine::Json& value, const KnownField& from, const std::string& path, std::string_view to);

  std::string_view text_;
  std::span<const KnownField> table_;
  engine::Json fields_;
  std::map<std::string, engine::OrderedJson, std::less<>> ordered_;
  GivenNames given_as_;
  std::vector<FieldWarning> warnings_;
};

/// Refuses the fields of the table with the fate `refused` whose value requests something (asks()). `also`: names of further
/// fields, which one route refuses.
void refuse_unserved_fields(RequestFields& object, std::initializer_list<std::string_view> also,
                            std::span<const KnownField> table = known_fields());

/// Warns of each field that was not read and whose value requests something, except harmless fields. Requires: all fields
/// that are served have been read.
void warn_of_unread_fields(RequestFields& object, std::span<const KnownField> table = known_fields());
/// Warns of each unread field that known_fields() does not have and whose value requests something: for routes that generate
/// nothing.
void warn_of_unknown_fields(RequestFields& body);

}  // namespace lathe::app
