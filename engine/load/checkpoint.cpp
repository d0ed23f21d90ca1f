// SPDX-License-Identifier: Apache-2.0
#include "engine/load/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lathe::engine {

namespace {

bool by_name(const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; }

}  // namespace

std::string to_string(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::int64_t n_bytes_of(const StoredTensor& tensor) {
  std::int64_t sum = std::ssize(tensor.bytes);
  for (const StoredTensor& part : tensor.parts) sum += std::ssize(part.bytes);
  return sum;
}

std::span<const kernels::WeightFormat> formats_of(const StoredTensor& tensor) {
  if (tensor.coded != nullptr) return tensor.coded->formats;
  const auto& packed = tensor.type->packed;
  return packed ? std::span(&*packed, 1) : std::span<const kernels::WeightFormat>();
}

bool has_input_order(const StoredTensor& tensor) { return tensor.coded != nullptr && !tensor.coded->group_of.empty(); }

std::vector<std::int64_t> plain_shape(const StoredTensor& tensor) {
  std::vector<std::int64_t> shape = tensor.shape;
  if (shape.size() == 3 && shape[1] == 1) shape.erase(shape.begin() + 1);
  return shape;
}

bool is_readable(const StoredTensor& tensor) {
  const StoredType& type = *tensor.type;
  if (tensor.coded != nullptr) return true;
  return type.dtype ? kernels::is_floating(*type.dtype) : type.decode != nullptr;
}

kernels::TensorView view_of(const StoredTensor& tensor, std::vector<std::byte>& aligned,
                            const kernels::ParallelFor& parallel_for) {
  if (tensor.coded != nullptr) {
    const CodedTensor& coded = *tensor.coded;
    aligned.resize(static_cast<std::size_t>(coded.n_rows * coded.k) * sizeof(float));
    decode(coded, parallel_for, reinterpret_cast<float*>(aligned.data()));
    return {aligned.data(), kernels::Dtype::f32, {coded.n_rows, coded.k}};
  }
  const StoredType& type = *tensor.type;
  const kernels::Dtype dtype = type.dtype.value_or(kernels::Dtype::f32);
  const std::byte* data = tensor.bytes.data();
  if (!type.dtype) {
    const std::size_t n_blocks = tensor.bytes.size() / static_cast<std::size_t>(type.bits / 8);
    aligned.resize(n_blocks * static_cast<std::size_t>(type.block) * sizeof(float));
    type.decode(data, static_cast<std::int64_t>(n_blocks), reinterpret_cast<float*>(aligned.data()));
    data = aligned.data();
  } else if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
    aligned.assign(tensor.bytes.begin(), tensor.bytes.end());
    data = aligned.data();
  }
  void* bytes = const_cast<std::byte*>(data);  // views have no const form; sources are only read
  const std::vector<std::int64_t> shape = plain_shape(tensor);
  return shape.size() == 1 ? kernels::TensorView(bytes, dtype, {shape[0]})
                           : kernels::TensorView(bytes, dtype, {shape[0], shape[1]});
}

kernels::TensorView blocks_of(const StoredTensor& tensor, kernels::WeightFormat format, std::vector<std::byte>& memory,
                              const kernels::ParallelFor& parallel_for) {
  if (tensor.coded != nullptr) {
    const std::int64_t n = tensor.coded->n_rows, row_bytes = kernels::coded_row_bytes(format, tensor.coded->k);
    memory.resize(static_cast<std::size_t>(n * row_bytes));
    write_rows(*tensor.coded, format, parallel_for, memory.data());
    return {memory.data(), kernels::Dtype::u8, {n, row_bytes}};
  }
  const std::int64_t n_rows = tensor.shape[0];
  void* bytes = const_cast<std::byte*>(tensor.bytes.data());  // views have no const form
  return {bytes, kernels::Dtype::u8, {n_rows, std::ssize(tensor.bytes) / n_rows}};
}

Result<void> Checkpoint::add(std::shared_ptr<const ByteSource> file, std::vector<StoredTensor> tensors) {
  const auto index = static_cast<std::uint32_t>(files_.size());
  files_.push_back(std::move(file));
  for (StoredTensor& tensor : tensors) {
    tensor.file = index;
    tensors_.push_back(std::move(tensor));
  }
  return settle_names();
}

Result<void> Checkpoint::replace(std::vector<StoredTensor> tensors) {
  tensors_ = std::move(tensors);
  return settle_names();
}

Result<void> Checkpoint::settle_names() {
  std::stable_sort(tensors_.begin(), tensors_.end(), by_name);
  const auto twice = std::adjacent_find(tensors_.begin(), tensors_.end(),
                                        [](const StoredTensor& a, const StoredTensor& b) { return a.name == b.name; });
  if (twice != tensors_.end()) {
    return fail(ErrorCode::model_refused, fmt::format("ambiguous tensor: {} has it too", file_of(*twice)),
                fmt::format("{}: {}", file_of(*(twice + 1)), twice->name));
  }
  return {};
}

const StoredTensor* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const StoredTensor& tensor, std::string_view key) { return tensor.name < key; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

Error Checkpoint::absence(std::string_view tensor) const {
  const auto found = absent_.find(tensor);
  const auto& [name, why] = found != absent_.end() ? *found : *absent_.begin();
  return {why->code, why->message, fmt::format("{}: {:.200}", why->where, name)};
}

void Checkpoint::will_need(const StoredTensor& tensor) const {
  files_[tensor.file]->will_need(tensor.bytes);
  for (const StoredTensor& part : tensor.parts) will_need(part);
}

void Checkpoint::drop(const StoredTensor& tensor) const {
  files_[tensor.file]->drop(tensor.bytes);
  for (const StoredTensor& part : tensor.parts) drop(part);
}

Result<void> Checkpoint::prepare(const StoredTensor& tensor) const {
  for (const StoredTensor& part : tensor.parts) LATHE_TRY_VOID(prepare(part));
  const ByteSource& file = *files_[tensor.file];
  if (file.prepare(tensor.bytes)) return {};
  return fail(
      ErrorCode::model_refused,
      fmt::format("truncated while it was read: it had {} bytes before; load it when it is complete", file.bytes().size()),
      fmt::format("{}: {:.200}", file.name(), tensor.name));
}

std::string Checkpoint::stamp() const {
  std::string stamps;
  for (const auto& file : files_) stamps += file->stamp() + "\n";
  return stamps;
}

std::int64_t Checkpoint::n_bytes() const {
  std::int64_t sum = 0;
  for (const auto& file : files_) sum += static_cast<std::int64_t>(file->bytes().size());
  return sum;
}

}  // namespace lathe::engine
