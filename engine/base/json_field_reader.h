// SPDX-License-Identifier: Apache-2.0
// JsonFieldReader: typed, bounded fields of a JSON object, and the account of what it asks for that is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// The first faulty field sticks, so that fields are read in plain lines and whoever reads them asks once at the end.
/// Keys may lead into objects: "rope_scaling.factor". null counts as absent.
class JsonFieldReader {
 public:
  /// Requires: `json` outlives the reader. `file` goes into `where`.
  JsonFieldReader(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The key is there and its value null: said to be nothing, where a default would be taken.
  bool is_null(std::string_view key) const {
    return json_.contains(std::string(key)) && json_.at(std::string(key)).is_null();
  }
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max);
  double number(std::string_view key, double min, double max);
  double number_or(std::string_view key, double fallback, double min, double max);
  bool boolean_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string_view fallback);
  /// A list of at most `max_count`; each in [min, max]. Empty when it is absent.
  std::vector<double> numbers(std::string_view key, std::size_t max_count, double min, double max);
  /// A list of at most `max_count` strings. Empty when it is absent.
  std::vector<std::string> texts(std::string_view key, std::size_t max_count);

  /// Null when it is absent. Errors: it is no object.
  const Json* object(std::string_view key);

  /// Records a value that makes no sense together with others.
  void fault(std::string_view key, std::string message);
  /// Records what it asks for and this engine does not have.
  void unmet(std::string_view what);
  /// Records each key of the object itself that nobody has read and that is not among `meaningless`.
  void note_unknown_keys(std::span<const std::string_view> meaningless);

  /// Errors: model_refused: the missing keys (their stand-ins may be faulty too), else the first faulty field, else the list
  /// of what is unmet.
  Result<void> finish() const;

 protected:
  /// Null when it is absent.
  const Json* find(std::string_view key) const;
  bool was_read(std::string_view key) const { return read_.contains(key); }

 private:
  const Json* take(std::string_view key);
  /// Null when it is absent, no list, or longer than that.
  const Json* take_list(std::string_view key, std::size_t max_count);
  std::int64_t bounded(std::string_view key, const Json& value, std::int64_t min, std::int64_t max);
  double bounded(std::string_view key, const Json& value, double min, double max);

  const Json& json_;
  std::string file_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> fault_;
  std::vector<std::string> missing_, unmet_;
};

}  // namespace lathe::engine
