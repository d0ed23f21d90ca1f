// SPDX-License-Identifier: Apache-2.0
// JsonFieldReader: reads typed, bounded fields of a JSON object and collects the settings that are not supported.
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

/// The first faulty field is kept, so that callers read fields in plain lines and check once at the end with finish().
/// Keys may lead into objects: "rope_scaling.factor". null counts as absent.
class JsonFieldReader {
 public:
  /// Requires: `json` outlives the reader. `file` goes into `where`.
  JsonFieldReader(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool is_list(std::string_view key) const {
    const Json* const value = find(key);
    return value != nullptr && value->is_array();
  }
  /// Whether the key exists with the value null: explicitly nothing, where an absent key would mean the default.
  bool is_null(std::string_view key) const {
    return json_.contains(std::string(key)) && json_.at(std::string(key)).is_null();
  }
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max);
  double number(std::string_view key, double min, double max);
  double number_or(std::string_view key, double fallback, double min, double max);
  bool boolean_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string_view fallback);
  /// A list of at most `max_count` numbers in [min, max]; empty when absent.
  std::vector<double> numbers(std::string_view key, std::size_t max_count, double min, double max);
  /// A list of at most `max_count` strings; empty when absent.
  std::vector<std::string> texts(std::string_view key, std::size_t max_count);

  /// The object under the key; null when absent. Errors: the value is no object.
  const Json* object(std::string_view key);

  /// Records a value that is inconsistent with others.
  void fault(std::string_view key, std::string message);
  /// Records a setting that the object asks for and this engine does not support.
  void unmet(std::string_view what);
  /// Records as unsupported each top-level key that was not read and is not among `meaningless`.
  void note_unknown_keys(std::span<const std::string_view> meaningless);

  /// Reports the collected errors. Errors: model_refused: the missing keys (values read instead of them may be faulty too),
  /// else the first faulty field, else the list of unsupported settings.
  Result<void> finish() const;

 protected:
  /// The value of a key; null when absent.
  const Json* find(std::string_view key) const;
  bool was_read(std::string_view key) const { return read_.contains(key); }

 private:
  const Json* take(std::string_view key);
  /// The list under the key; null when absent, no list, or longer than `max_count`.
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
