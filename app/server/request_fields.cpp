// SPDX-License-Identifier: Apache-2.0
#include "app/server/request_fields.h"

#include <algorithm>
#include <limits>

#include "engine/api/json_value.h"

namespace lathe::app {

using engine::ErrorCode;
using engine::Json;

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

template <class Value>
std::optional<Value> RequestFields::take(std::string_view name, engine::Result<Value> (*read)(const Json&)) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  engine::Result<Value> taken = read(*value);
  if (taken) return std::move(*taken);
  refuse(std::string(name) + taken.error().where, std::move(taken.error().message));
  return std::nullopt;
}

std::optional<bool> RequestFields::flag(std::string_view name) { return take(name, engine::json_boolean); }
std::optional<std::int64_t> RequestFields::integer(std::string_view name) { return take(name, engine::json_integer); }
std::optional<double> RequestFields::number(std::string_view name) { return take(name, engine::json_number); }
std::optional<std::string> RequestFields::text(std::string_view name) { return take(name, engine::json_text); }

void RequestFields::sampling(const engine::SamplingField& field, engine::SamplingParams& params) {
  const Json* value = find(field.option.name);
  if (value == nullptr) return;
  const engine::Result<void> decoded = engine::decode_json(field, *value, params);
  if (!decoded) refuse(std::string(field.option.name) + decoded.error().where, decoded.error().message);
}

const Json* RequestFields::array(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_array()) return value;
  refuse(name, engine::expected_type("a list", *value));
  return nullptr;
}

const Json* RequestFields::object(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_object()) return value;
  refuse(name, engine::expected_type("an object", *value));
  return nullptr;
}

std::vector<std::int32_t> RequestFields::ids(std::string_view name, std::size_t max_items) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  auto ids = engine::json_ids(*value, max_items);
  if (ids) return std::move(*ids);
  refuse(std::string(name) + ids.error().where, std::move(ids.error().message));
  return {};
}

engine::Result<std::vector<std::int32_t>> read_ids(const Json& array, const std::string& path) {
  auto ids = engine::json_ids(array, std::numeric_limits<std::size_t>::max());
  if (!ids) ids.error().where = path + ids.error().where;
  return ids;
}

}  // namespace lathe::app
