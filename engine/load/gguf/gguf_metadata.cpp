// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_metadata.h"

#include "engine/load/gguf/gguf_types.h"

namespace lathe::engine {
namespace {

constexpr std::uint32_t kWrittenVersion = 3;
constexpr std::size_t kAlignment = 32;  // the default of the format
// Numbers of value types.
constexpr std::uint32_t kValueU8 = 0, kValueU32 = 4, kValueI32 = 5, kValueF32 = 6, kValueBool = 7, kValueText = 8,
                        kValueList = 9;

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& to, std::string_view text) {
  append(to, static_cast<std::uint64_t>(text.size()));
  to.append(text);
}

template <class T>
void append_all(std::string& to, std::span<const T> values) {
  to.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::uint32_t type_number(const WrittenTensor& tensor) {
  if (tensor.blocks != nullptr) return number_of(*tensor.blocks);
  switch (tensor.dtype) {
    case kernels::Dtype::f16: return 1;
    case kernels::Dtype::bf16: return 30;
    default: return 0;
  }
}

std::size_t padded(std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void GgufMetadata::begin(std::string_view key, std::uint32_t type) {
  append_text(bytes_, key);
  append(bytes_, type);
  ++n_values_;
}

void GgufMetadata::begin_list(std::string_view key, std::uint32_t type, std::size_t n) {
  begin(key, kValueList);
  append(bytes_, type);
  append(bytes_, static_cast<std::uint64_t>(n));
}

void GgufMetadata::set_text(std::string_view key, std::string_view value) {
  begin(key, kValueText);
  append_text(bytes_, value);
}

void GgufMetadata::set_whole(std::string_view key, std::uint32_t value) {
  begin(key, kValueU32);
  append(bytes_, value);
}

void GgufMetadata::set_number(std::string_view key, float value) {
  begin(key, kValueF32);
  append(bytes_, value);
}

void GgufMetadata::set_flag(std::string_view key, bool value) {
  begin(key, kValueBool);
  append(bytes_, static_cast<std::uint8_t>(value ? 1 : 0));
}

void GgufMetadata::set_texts(std::string_view key, std::span<const std::string> values) {
  begin_list(key, kValueText, values.size());
  for (const std::string& value : values) append_text(bytes_, value);
}

void GgufMetadata::set_integers(std::string_view key, std::span<const std::int32_t> values) {
  begin_list(key, kValueI32, values.size());
  append_all(bytes_, values);
}

void GgufMetadata::set_numbers(std::string_view key, std::span<const float> values) {
  begin_list(key, kValueF32, values.size());
  append_all(bytes_, values);
}

void GgufMetadata::set_flags(std::string_view key, std::span<const std::uint8_t> values) {
  begin_list(key, kValueBool, values.size());
  append_all(bytes_, values);
}

void GgufMetadata::set_bytes(std::string_view key, std::string_view values) {
  begin_list(key, kValueU8, values.size());
  bytes_.append(values);
}

void GgufMetadata::copy(std::string_view key, const GgufValue& value) {
  if (value.is_list) {
    begin_list(key, value.type, value.n);
  } else {
    begin(key, value.type);
  }
  append_all(bytes_, value.bytes);
}

Result<WeightsWriter> create_gguf(const std::string& path, const GgufMetadata& metadata,
                                  std::span<const WrittenTensor> tensors) {
  std::string header = "GGUF";
  append(header, kWrittenVersion);
  append(header, static_cast<std::uint64_t>(tensors.size()));
  append(header, metadata.n_values());
  header.append(metadata.bytes());
  std::uint64_t offset = 0;
  for (const WrittenTensor& tensor : tensors) {
    append_text(header, tensor.name);
    append(header, static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t i = tensor.shape.size(); i-- > 0;) append(header, static_cast<std::uint64_t>(tensor.shape[i]));
    append(header, type_number(tensor));
    append(header, offset);
    offset += padded(tensor.n_bytes());
  }
  header.resize(padded(header.size()));
  return WeightsWriter::create(path, header, tensors, kAlignment);
}

}  // namespace lathe::engine
