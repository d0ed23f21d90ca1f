// SPDX-License-Identifier: Apache-2.0
#include "app/server/request_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;

std::string with_article(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "true or false";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return "a number";
}

std::string expected(std::string_view what, const Json& got) {
  return "must be " + std::string(what) + ", got " + with_article(got);
}

}  // namespace

RequestFields::RequestFields(const Json& object, std::string path, const GivenNames* given_as)
    : object_(object), path_(std::move(path)), given_as_(given_as) {}

const Json* RequestFields::find(std::string_view name) const {
  const auto found = object_.find(std::string(name));
  if (found == object_.end() || found->is_null()) return nullptr;
  if (std::find(read_.begin(), read_.end(), &*found) == read_.end()) read_.push_back(&*found);
  return &*found;
}

void RequestFields::for_each_unread(const std::function<bool(const std::string& name)>& use) const {
  for (auto member = object_.begin(); member != object_.end(); ++member) {
    if (member->is_null() || std::find(read_.begin(), read_.end(), &*member) != read_.end()) continue;
    if (!use(member.key())) return;
  }
}

void RequestFields::warn(std::string_view name, std::string message) {
  if (warnings_.size() < kMaxWarnings) warnings_.push_back({path_of(name), std::move(message)});
}

void RequestFields::take_over(const RequestFields& part) {
  if (!error_) error_ = part.error_;
  const std::size_t n = std::min(part.warnings_.size(), kMaxWarnings - warnings_.size());
  warnings_.insert(warnings_.end(), part.warnings_.begin(), part.warnings_.begin() + static_cast<std::ptrdiff_t>(n));
}

std::string RequestFields::path_of(std::string_view name) const {
  if (given_as_ != nullptr) {  // "stop[1]" belongs to the field "stop"
    const std::size_t end = std::min(name.find_first_of("[."), name.size());
    const auto given = given_as_->find(name.substr(0, end));
    if (given != given_as_->end()) return given->second + std::string(name.substr(end));
  }
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void RequestFields::refuse(std::string_view name, std::string message, ErrorCode code) {
  if (!error_) error_ = engine::Error{code, std::move(message), path_of(name)};
}

engine::Result<void> RequestFields::verdict() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

std::optional<bool> RequestFields::flag(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  refuse(name, expected("true or false", *value));
  return std::nullopt;
}

std::optional<std::int64_t> RequestFields::integer(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto number = as_integer(*value)) return number;
  refuse(name,
         value->is_number() ? "must be a whole number between -2^63 and 2^63 - 1" : expected("a whole number", *value));
  return std::nullopt;
}

std::optional<double> RequestFields::number(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    refuse(name, expected("a number", *value));
    return std::nullopt;
  }
  const double number = value->get<double>();
  if (std::isfinite(number) && std::fpclassify(number) != FP_SUBNORMAL) return number;
  refuse(name, "is too large or too close to zero for a 64-bit floating-point number");
  return std::nullopt;
}

std::optional<std::string> RequestFields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  refuse(name, expected("a string", *value));
  return std::nullopt;
}

const Json* RequestFields::array(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_array()) return value;
  refuse(name, expected("a list", *value));
  return nullptr;
}

const Json* RequestFields::object(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_object()) return value;
  refuse(name, expected("an object", *value));
  return nullptr;
}

std::vector<std::string> RequestFields::text_or_texts(std::string_view name, std::size_t max_items) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) {
    refuse(name, expected("a string or a list of strings", *value));
    return {};
  }
  if (value->size() > max_items) {
    refuse(name, "may hold at most " + std::to_string(max_items) + " strings, got " + std::to_string(value->size()));
    return {};
  }
  std::vector<std::string> texts;
  for (const Json& item : *value) {
    if (!item.is_string()) {
      refuse(std::string(name) + "[" + std::to_string(texts.size()) + "]", expected("a string", item));
      return {};
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<std::int32_t> RequestFields::ids(std::string_view name, std::size_t max_items) {
  const Json* value = array(name);
  if (value == nullptr) return {};
  if (value->size() > max_items) {
    refuse(name, "may hold at most " + std::to_string(max_items) + " IDs, got " + std::to_string(value->size()));
    return {};
  }
  auto ids = read_ids(*value, path_of(name));
  if (ids) return std::move(*ids);
  if (!error_) error_ = ids.error();
  return {};
}

std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  constexpr double exact = 9007199254740992.0;  // 2^53: from there on a double may stand for several integers
  const double number = value.get<double>();
  if (!(std::abs(number) < exact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

engine::Result<std::vector<std::int32_t>> read_ids(const Json& array, const std::string& path) {
  std::vector<std::int32_t> ids;
  ids.reserve(array.size());
  for (const Json& item : array) {
    const auto number = as_integer(item);
    if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
        *number > std::numeric_limits<std::int32_t>::max()) {
      return engine::fail(ErrorCode::invalid_argument, "must be a token ID, a whole number",
                          path + "[" + std::to_string(ids.size()) + "]");
    }
    ids.push_back(static_cast<std::int32_t>(*number));
  }
  return ids;
}

}  // namespace lathe::app
