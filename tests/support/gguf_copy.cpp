// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gguf_copy.h"

#include <algorithm>

#include "engine/load/gguf/gguf_types.h"
#include "kernels/api/check.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {

engine::GgufFile opened_gguf(const std::string& path) {
  return engine::open_gguf(engine::ModelFolder::open(path).value()).value();
}

std::string bytes_of(const engine::GgufFile& file, const engine::GgufTensor& tensor) {
  const engine::StoredType& type = *engine::find_gguf_type(tensor.type);
  std::int64_t n = 1;
  for (const std::int64_t size : tensor.shape) n *= size;
  const auto bytes = file.header.data().subspan(tensor.offset, static_cast<std::size_t>(n / type.block * type.bits / 8));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string bytes_of(const engine::GgufFile& file, const std::string& tensor) {
  const auto tensors = file.header.tensors();
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& one) { return one.name == tensor; });
  LATHE_CHECK(found != tensors.end());
  return bytes_of(file, *found);
}

std::map<std::string, std::string> content_of(const std::string& path) {
  const engine::GgufFile file = opened_gguf(path);
  std::map<std::string, std::string> content;
  for (const engine::GgufTensor& tensor : file.header.tensors()) {
    content["tensor " + tensor.name] =
        std::to_string(tensor.type) + engine::to_string(tensor.shape) + bytes_of(file, tensor);
  }
  for (const auto& [key, value] : file.header.values()) {
    content["value " + key] =
        std::to_string(value.type) + std::string(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  }
  return content;
}

void add_value(GgufBuilder& builder, const std::string& key, const engine::GgufValue& value) {
  constexpr std::uint32_t kListType = 9;
  std::string bytes(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  if (value.is_list) bytes = GgufBuilder::bytes_of(value.type) + GgufBuilder::bytes_of(value.n) + bytes;
  builder.value(key, value.is_list ? kListType : value.type, bytes);
}

GgufCopy& GgufCopy::set(const std::string& key, std::optional<std::uint32_t> value) {
  values_[key] = value;
  return *this;
}

GgufCopy& GgufCopy::leave_out(const std::string& end) {
  left_out_.push_back(end);
  return *this;
}

GgufCopy& GgufCopy::add(const std::string& name, const std::vector<std::int64_t>& shape, std::uint32_t type,
                        const std::string& bytes) {
  copy_.tensor(name, shape, type, bytes);
  return *this;
}

void GgufCopy::write(const std::string& path) {
  for (const auto& [key, value] : file_.header.values()) {
    if (!values_.contains(std::string(key))) add_value(copy_, std::string(key), value);
  }
  for (const auto& [key, value] : values_) {
    if (value) copy_.value(key, *value);
  }
  for (const engine::GgufTensor& tensor : file_.header.tensors()) {
    const bool is_left_out =
        std::any_of(left_out_.begin(), left_out_.end(), [&](const std::string& end) { return tensor.name.ends_with(end); });
    if (!is_left_out) copy_.tensor(tensor.name, tensor.shape, tensor.type, bytes_of(file_, tensor));
  }
  write_file(path, copy_.bytes());
}

}  // namespace lathe::tests
