// SPDX-License-Identifier: Apache-2.0
// RequestFields: reads typed fields of a JSON object and keeps the first error, with its path, and all warnings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/sampling_field.h"

namespace lathe::app {

/// A requested field that is ignored; the answer reports it.
struct FieldWarning {
  std::string field;    ///< path of the field, as the request has it
  std::string message;  ///< a sentence about the field, without its name
};

/// Maps the serving name of a field to the name in the request: "max_tokens" -> "options.num_predict".
using GivenNames = std::map<std::string, std::string, std::less<>>;

/// A reader of one JSON object. null counts as absent. Values are not converted: "5" is not 5, and neither is true.
class RequestFields {
 public:
  /// `path` of the object: empty for the body, else "messages[2]". Requires: `object` and `given_as` outlive the reader.
  explicit RequestFields(const engine::Json& object, std::string path = {}, const GivenNames* given_as = nullptr);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::optional<bool> flag(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<double> number(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  /// Return the value if it exists and is an array or object; null otherwise.
  const engine::Json* array(std::string_view name);
  const engine::Json* object(std::string_view name);
  const engine::Json* any(std::string_view name) const { return find(name); }
  /// Reads a sampling parameter into `params`, which keeps its value if the field is absent.
  void sampling(const engine::SamplingField& field, engine::SamplingParams& params);
  /// Reads an array of at most `max_items` whole numbers of 32 bits.
  std::vector<std::int32_t> ids(std::string_view name, std::size_t max_items);

  std::string path_of(std::string_view name) const;
  /// Records an error; only the first is kept.
  void refuse(std::string_view name, std::string message, engine::ErrorCode code = engine::ErrorCode::invalid_argument);
  bool failed() const { return error_.has_value(); }
  engine::Result<void> verdict() const;

  /// Limit of the warnings: a body may have a million names.
  static constexpr std::size_t kMaxWarnings = 64;
  /// Records a warning; only the first kMaxWarnings are kept.
  void warn(std::string_view name, std::string message);
  const std::vector<FieldWarning>& warnings() const { return warnings_; }
  /// Adds the error and the warnings of a part of this object.
  void take_over(const RequestFields& part);
  const engine::Json& object() const { return object_; }
  /// Calls use(name) for every member that was not read and is not null, until it returns false.
  void for_each_unread(const std::function<bool(const std::string& name)>& use) const;

 private:
  const engine::Json* find(std::string_view name) const;
  template <class Value>
  std::optional<Value> take(std::string_view name, engine::Result<Value> (*read)(const engine::Json&));

  const engine::Json& object_;
  std::string path_;
  const GivenNames* given_as_;
  std::optional<engine::Error> error_;
  std::vector<FieldWarning> warnings_;
  mutable std::vector<const engine::Json*> read_;  ///< members that were read
};

/// Reads the ids of an array. Errors: invalid_argument at `path`, with the index.
engine::Result<std::vector<std::int32_t>> read_ids(const engine::Json& array, const std::string& path);

}  // namespace lathe::app
