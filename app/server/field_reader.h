// SPDX-License-Identifier: Apache-2.0
// FieldReader: takes typed fields out of a JSON object and keeps the first complaint, with its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

/// null counts as absent. Nothing is converted: "5" is not 5, and neither is true.
class FieldReader {
 public:
  /// `path` of the object: empty for the body, else "messages[2]". Requires: `object` outlives the reader.
  FieldReader(const engine::Json& object, std::string path = {});

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

 private:
  const engine::Json* find(std::string_view name) const;

  const engine::Json& object_;
  std::string path_;
  std::optional<engine::Error> error_;
};

/// A whole number of 64 bits; a float without fraction counts as one. None: it is something else, or does not fit.
std::optional<std::int64_t> as_integer(const engine::Json& value);
/// The ids of an array. Errors: invalid_argument at `path`, with the index.
engine::Result<std::vector<std::int32_t>> read_ids(const engine::Json& array, const std::string& path);
/// Parses the body of a request. Errors: invalid_argument when it is not a JSON object within the limits.
engine::Result<engine::Json> parse_body(std::string_view body);

}  // namespace lathe::app
