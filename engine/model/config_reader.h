// SPDX-License-Identifier: Apache-2.0
// ConfigReader: typed, bounded fields of config.json, and the account of what a checkpoint asks for that is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// The first faulty field sticks, so that an architecture reads its fields in plain lines and asks once at the end.
/// Keys may lead into objects: "rope_scaling.factor". null counts as absent.
class ConfigReader {
 public:
  /// Requires: `config` outlives the reader. `file` goes into `where`.
  ConfigReader(const Json& config, std::string file) : config_(config), file_(std::move(file)) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The key is there and its value null: said to be nothing, where a family's class would take its own.
  bool is_null(std::string_view key) const {
    return config_.contains(std::string(key)) && config_.at(std::string(key)).is_null();
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
  /// One id or a list of at most `max_count`; each in [0, max].
  std::vector<std::int32_t> ids(std::string_view key, std::size_t max_count, std::int32_t max);

  /// Records a value that makes no sense together with others.
  void fault(std::string_view key, std::string message);
  /// Records what the checkpoint asks for and this engine does not have.
  void unmet(std::string_view what);
  /// Records every setting that changes the arithmetic and that nobody has read.
  void note_unread_knobs();

  /// Errors: model_refused: the missing keys (their stand-ins may be faulty too), else the first faulty field, else the list
  /// of what is unmet.
  Result<void> finish() const;

 private:
  const Json* find(std::string_view key) const;
  const Json* take(std::string_view key);
  /// Null when it is absent, no list, or longer than that.
  const Json* take_list(std::string_view key, std::size_t max_count);
  std::int64_t bounded(std::string_view key, const Json& value, std::int64_t min, std::int64_t max);
  double bounded(std::string_view key, const Json& value, double min, double max);

  const Json& config_;
  std::string file_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> fault_;
  std::vector<std::string> missing_, unmet_;
};

}  // namespace lathe::engine
