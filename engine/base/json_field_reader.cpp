// SPDX-License-Identifier: Apache-2.0
#include "engine/base/json_field_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/api/python_json.h"

namespace lathe::engine {

namespace {

/// Joins items to a text, truncated to the length of a message.
std::string list(std::string_view intro, const std::vector<std::string>& items, std::string_view separator) {
  constexpr std::size_t kMaxBytes = 900;
  std::string text = fmt::format("{}{}", intro, fmt::join(items, separator));
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
}

}  // namespace

const Json* JsonFieldReader::find(std::string_view key) const {
  const Json* value = &json_;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    if (!value->is_object()) return nullptr;
    const auto found = value->find(std::string(key.substr(begin, end - begin)));
    if (found == value->end() || found->is_null()) return nullptr;
    value = &*found;
    begin = end + 1;
  }
  return value;
}

const Json* JsonFieldReader::take(std::string_view key) {
  read_.emplace(key);
  return find(key);
}

void JsonFieldReader::fault(std::string_view key, std::string message) {
  if (!fault_) fault_ = Error{ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", file_, key)};
}

void JsonFieldReader::unmet(std::string_view what) { unmet_.emplace_back(what); }

std::int64_t JsonFieldReader::bounded(std::string_view key, const Json& value, std::int64_t min, std::int64_t max) {
  const bool is_integer = value.is_number_integer();
  // An unsigned number above 2^63 - 1 would become negative as int64.
  const bool too_big = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(max);
  if (is_integer && !too_big && value.get<std::int64_t>() >= min && value.get<std::int64_t>() <= max) {
    return value.get<std::int64_t>();
  }
  fault(key, fmt::format("got {}, expected an integer in {}..{}", excerpt_of_json(value), min, max));
  return min;
}

double JsonFieldReader::bounded(std::string_view key, const Json& value, double min, double max) {
  if (value.is_number() && value.get<double>() >= min && value.get<double>() <= max) return value.get<double>();
  fault(key, fmt::format("got {}, expected a number in {}..{}", excerpt_of_json(value), min, max));
  return min;
}

std::int64_t JsonFieldReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const Json* value = take(key);
  if (value != nullptr) return bounded(key, *value, min, max);
  missing_.emplace_back(key);
  return min;
}

std::int64_t JsonFieldReader::integer_or(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max) {
  const Json* value = take(key);
  return value != nullptr ? bounded(key, *value, min, max) : fallback;
}

double JsonFieldReader::number(std::string_view key, double min, double max) {
  const Json* value = take(key);
  if (value != nullptr) return bounded(key, *value, min, max);
  missing_.emplace_back(key);
  return min;
}

double JsonFieldReader::number_or(std::string_view key, double fallback, double min, double max) {
  const Json* value = take(key);
  return value != nullptr ? bounded(key, *value, min, max) : fallback;
}

bool JsonFieldReader::boolean_or(std::string_view key, bool fallback) {
  const Json* value = take(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fault(key, fmt::format("got {}, expected true or false", excerpt_of_json(*value)));
  return fallback;
}

std::string JsonFieldReader::text_or(std::string_view key, std::string_view fallback) {
  const Json* value = take(key);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  fault(key, fmt::format("got {}, expected a string", excerpt_of_json(*value)));
  return std::string(fallback);
}

const Json* JsonFieldReader::take_list(std::string_view key, std::size_t max_count) {
  const Json* list = take(key);
  if (list == nullptr || (list->is_array() && list->size() <= max_count)) return list;
  fault(key, list->is_array() ? fmt::format("got a list of {}, expected at most {}", list->size(), max_count)
                              : fmt::format("got {}, expected a list", excerpt_of_json(*list)));
  return nullptr;
}

std::vector<double> JsonFieldReader::numbers(std::string_view key, std::size_t max_count, double min, double max) {
  std::vector<double> numbers;
  const Json* values = take_list(key, max_count);
  if (values == nullptr) return numbers;
  for (const Json& value : *values) numbers.push_back(bounded(key, value, min, max));
  return numbers;
}

std::vector<std::string> JsonFieldReader::texts(std::string_view key, std::size_t max_count) {
  std::vector<std::string> texts;
  const Json* values = take_list(key, max_count);
  if (values == nullptr) return texts;
  for (const Json& value : *values) {
    if (value.is_string()) {
      texts.push_back(value.get<std::string>());
    } else {
      fault(key, fmt::format("got {}, expected a string", excerpt_of_json(value)));
    }
  }
  return texts;
}

const Json* JsonFieldReader::object(std::string_view key) {
  const Json* value = take(key);
  if (value == nullptr || value->is_object()) return value;
  fault(key, fmt::format("got {}, expected an object", excerpt_of_json(*value)));
  return nullptr;
}

void JsonFieldReader::note_unknown_keys(std::span<const std::string_view> meaningless) {
  for (const auto& [key, value] : json_.items()) {
    const bool is_known = was_read(key) || std::find(meaningless.begin(), meaningless.end(), key) != meaningless.end();
    if (!is_known && !value.is_null()) unmet(fmt::format("an unknown setting ({:.64})", key));
  }
}

Result<void> JsonFieldReader::finish() const {
  if (!missing_.empty()) {
    return fail(ErrorCode::model_refused, list("missing: ", missing_, ", "), file_);
  }
  if (fault_) return tl::unexpected<Error>(*fault_);
  if (!unmet_.empty()) {
    return fail(ErrorCode::model_refused, list("asks for features that are not supported: ", unmet_, "; "), file_);
  }
  return {};
}

}  // namespace lathe::engine
