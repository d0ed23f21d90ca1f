// SPDX-License-Identifier: Apache-2.0
#include "engine/load/tensor_parts.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace lathe::engine {
namespace {

using kernels::Dtype;

template <class T>
T value_at(const std::byte* data, std::int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

constexpr StoredType kTypeInt4 = {.name = "int4", .bits = 4}, kTypeInt8 = {.name = "int8", .bits = 8},
                     kTypeE4m3 = {.name = "fp8_e4m3", .bits = 8}, kTypeNf4 = {.name = "nf4", .bits = 4},
                     kTypeFp4 = {.name = "fp4", .bits = 4}, kTypeMxfp4 = {.name = "mxfp4", .bits = 4},
                     kTypeCodebook4 = {.name = "4-bit codes", .bits = 4};

const StoredType& type_of(CodeEncoding kind) {
  switch (kind) {
    case CodeEncoding::int4:
    case CodeEncoding::uint4_min: return kTypeInt4;
    case CodeEncoding::int8:
    case CodeEncoding::int8_dynamic:
    case CodeEncoding::llm_int8: return kTypeInt8;
    case CodeEncoding::e4m3: return kTypeE4m3;
    case CodeEncoding::nf4: return kTypeNf4;
    case CodeEncoding::fp4: return kTypeFp4;
    case CodeEncoding::mxfp4: return kTypeMxfp4;
    case CodeEncoding::int4_subscaled:
    case CodeEncoding::iq4:
    case CodeEncoding::codebook4: return kTypeCodebook4;
    case CodeEncoding::uint8_min:
    case CodeEncoding::int8_subscaled: return kTypeInt8;
  }
  return kTypeInt8;
}

}  // namespace

float NumberList::at(std::int64_t i) const {
  switch (dtype) {
    case Dtype::f16: return kernels::f16_to_f32(value_at<std::uint16_t>(data, i));
    case Dtype::bf16: return kernels::bf16_to_f32(value_at<std::uint16_t>(data, i));
    default: return value_at<float>(data, i);
  }
}

bool NumberList::are_halves() const {
  if (dtype == Dtype::f16) return true;
  for (std::int64_t i = 0; i < n; ++i) {
    const float number = at(i);
    if (std::bit_cast<std::uint32_t>(kernels::f16_to_f32(kernels::f32_to_f16(number))) !=
        std::bit_cast<std::uint32_t>(number))
      return false;
  }
  return true;
}

std::uint32_t word_at(std::span<const std::byte> words, std::int64_t i) { return value_at<std::uint32_t>(words.data(), i); }

NumberList numbers_in(const StoredTensor& tensor) {
  const Dtype dtype = *tensor.type->dtype;
  return {tensor.bytes.data(), dtype, std::ssize(tensor.bytes) / static_cast<std::int64_t>(size_of(dtype))};
}

std::vector<std::string> TensorParts::modules_with(std::string_view ending) const {
  std::vector<std::string> modules;
  for (const StoredTensor& tensor : checkpoint_.tensors()) {
    if (tensor.name.ends_with(ending)) modules.push_back(tensor.name.substr(0, tensor.name.size() - ending.size()));
  }
  return modules;
}

tl::unexpected<Error> TensorParts::refuse(const StoredTensor& tensor, std::string message) const {
  return fail(ErrorCode::model_refused, std::move(message),
              fmt::format("{}: {:.200}", checkpoint_.file_of(tensor), tensor.name));
}

Result<const StoredTensor*> TensorParts::of_type(const std::string& name, std::string_view type) const {
  const StoredTensor* tensor = checkpoint_.find(name);
  if (tensor == nullptr) {
    return fail(ErrorCode::model_refused, "missing tensor: a quantized matrix needs it",
                fmt::format("{}: {:.200}", checkpoint_.file_format(), name));
  }
  if (tensor->type->name != type)
    return refuse(*tensor, fmt::format("dtype: got {}, expected {}", tensor->type->name, type));
  return tensor;
}

Result<const StoredTensor*> TensorParts::floating(const std::string& name) const {
  const StoredTensor* tensor = checkpoint_.find(name);
  if (tensor != nullptr && (!tensor->type->dtype || !is_floating(*tensor->type->dtype))) {
    return refuse(*tensor, fmt::format("dtype: got {}, expected one of F32, F16, BF16", tensor->type->name));
  }
  return tensor != nullptr ? Result<const StoredTensor*>(tensor) : of_type(name, "");
}

Result<void> TensorParts::check_shape(const StoredTensor& tensor, std::initializer_list<std::int64_t> shape) const {
  const std::vector<std::int64_t> expected = shape;
  if (tensor.shape == expected) return {};
  return refuse(tensor, fmt::format("shape: got {}, expected {}", to_string(tensor.shape), to_string(expected)));
}

Result<void> TensorParts::check_grid(const StoredTensor& tensor, std::int64_t rows, std::int64_t columns) const {
  const std::vector<std::int64_t> expected = {rows, columns};
  if (tensor.shape == expected) return {};
  const std::int64_t n = std::ssize(tensor.bytes) / (tensor.type->bits / 8);
  if (tensor.shape.size() < 2 && n == rows * columns) return {};
  return refuse(tensor, fmt::format("shape: got {}, expected {}", to_string(tensor.shape), to_string(expected)));
}

Result<std::vector<std::int32_t>> TensorParts::read_order(const StoredTensor& tensor, std::int64_t k,
                                                          std::int64_t group) const {
  LATHE_TRY_VOID(of_type(tensor.name, "I32"));
  LATHE_TRY_VOID(check_shape(tensor, {k}));
  const std::int64_t n_groups = groups_in(k, group);
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  bool is_usual = true;
  for (std::int64_t i = 0; i < k; ++i) {
    std::int32_t& own = order[static_cast<std::size_t>(i)];
    own = static_cast<std::int32_t>(word_at(tensor.bytes, i));
    if (own < 0 || own >= n_groups) return refuse(tensor, fmt::format("group {} of {} at {}", own, n_groups, i));
    is_usual = is_usual && own == i / group;
  }
  if (is_usual) order.clear();
  return order;
}

void TensorParts::join(std::string name, CodedTensor coded, std::initializer_list<const StoredTensor*> tensors) {
  StoredTensor joined = **tensors.begin();
  for (const StoredTensor* tensor : tensors) {
    if (tensor == nullptr) continue;
    used_.insert(tensor->name);
    if (tensor != *tensors.begin()) joined.parts.push_back(*tensor);
  }
  joined.name = std::move(name);
  joined.type = &type_of(coded.kind);
  joined.shape = {coded.n_rows, coded.k};
  joined.form = StoredForm::outputs_first;
  joined.coded = std::make_shared<const CodedTensor>(std::move(coded));
  joined_.push_back(std::move(joined));
}

Result<void> TensorParts::put_back(Checkpoint& checkpoint) const {
  std::vector<StoredTensor> all = joined_;
  for (const StoredTensor& tensor : checkpoint_.tensors()) {
    if (!used_.contains(tensor.name)) all.push_back(tensor);
  }
  return checkpoint.replace(std::move(all));
}

}  // namespace lathe::engine
