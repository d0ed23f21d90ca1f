// SPDX-License-Identifier: Apache-2.0
// RequestFields: takes typed fields out of a JSON object and keeps the first complaint, with its path, and all warnings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

/// A field that was asked for and is not obeyed. The answer says so.
struct FieldWarning {
  std::string field;    ///< with its path, as the request has it
  std::string message;  ///< a sentence about the field, without its name
};

/// By the name under which a field is served, what the request calls it: "repetition_penalty" -> "options.repeat_penalty".
using GivenNames = std::map<std::string, std::string, std::less<>>;

/// null counts as absent. Nothing is converted: "5" is not 5, and neither is true.
class RequestFields {
 public:
  /// `path` of the object: empty for the body, else "messages[2]". Requires: `object` and `given_as` outlive the reader.
  explicit RequestFields(const engine::Json& object, std::string path = {}, const GivenNames* given_as = nullptr);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::optional<bool> flag(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<double> number(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  /// The value if it is there and is an array/object; null otherwise.
  const engine::Json* array(std::string_view name);
  const engine::Json* object(std::string_view name);
  const engine::Json* any(std::string_view name) const { return find(name); }
  /// A string, or an array of at most `max_items` strings.
  std::vector<std::string> text_or_texts(std::string_view name, std::size_t max_items);
  /// An array of at most `max_items` whole numbers of 32 bits.
  std::vector<std::int32_t> ids(std::string_view name, std::size_t max_items);

  std::string path_of(std::string_view name) const;
  /// Only the first complaint is kept.
  void refuse(std::string_view name, std::string message, engine::ErrorCode code = engine::ErrorCode::invalid_argument);
  bool failed() const { return error_.has_value(); }
  engine::Result<void> verdict() const;

  /// More warnings help nobody, and a body may have a million names.
  static constexpr std::size_t kMaxWarnings = 64;
  /// Only the first kMaxWarnings are kept.
  void warn(std::string_view name, std::string message);
  const std::vector<FieldWarning>& warnings() const { return warnings_; }
  /// Complaint and warnings of a part of this object become this one's.
  void take_over(const RequestFields& part);
  const engine::Json& object() const { return object_; }
  /// Calls use(name) for the members that nobody has looked at, until it says false.
  void for_each_unread(const std::function<bool(const std::string& name)>& use) const;

 private:
  const engine::Json* find(std::string_view name) const;

  const engine::Json& object_;
  std::string path_;
  const GivenNames* given_as_;
  std::optional<engine::Error> error_;
  std::vector<FieldWarning> warnings_;
  mutable std::vector<const engine::Json*> read_;  ///< members that somebody has looked at
};

/// A whole number of 64 bits; a float without fraction counts as one. None: it is something else, or does not fit.
std::optional<std::int64_t> as_integer(const engine::Json& value);
/// The ids of an array. Errors: invalid_argument at `path`, with the index.
engine::Result<std::vector<std::int32_t>> read_ids(const engine::Json& array, const std::string& path);

}  // namespace lathe::app
