// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/token_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/base/allocation_error.h"
#include "engine/model/layers/device_tensor.h"

namespace lathe::engine {

namespace {

// Bytes that one thread copies at a time.
constexpr std::int64_t kBytesOfCopy = 1LL << 20;

template <class Number, class Convert>
void convert_row(const std::byte* row, std::int64_t n, float* to, const Convert& convert) {
  for (std::int64_t i = 0; i < n; ++i) {
    Number number;
    std::memcpy(&number, row + i * static_cast<std::int64_t>(sizeof number), sizeof number);
    to[i] = convert(number);
  }
}

constexpr std::array kNumberTypes = {StoredType{"F32", 32, kernels::Dtype::f32}, StoredType{"F16", 16, kernels::Dtype::f16},
                                     StoredType{"BF16", 16, kernels::Dtype::bf16}};

}  // namespace

const StoredType& number_type(kernels::Dtype dtype) {
  const auto* const found =
      std::find_if(kNumberTypes.begin(), kNumberTypes.end(), [&](const StoredType& type) { return type.dtype == dtype; });
  LATHE_CHECK(found != kNumberTypes.end());
  return *found;
}

Result<void> TokenTable::allocate(kernels::Backend& backend) {
  const std::int64_t n_bytes = planned_bytes(backend);
  if (n_bytes == 0) return {};
  memory_ = backend.allocate(static_cast<std::size_t>(n_bytes));
  if (memory_) return {};
  return allocation_error(backend, fmt::format("not enough memory for {} bytes of per-layer embeddings", n_bytes),
                          "weights");
}

void TokenTable::load(kernels::Backend& backend, const kernels::TensorView& source) {
  const std::int64_t n_bytes = this->n_bytes();
  if (type_->dtype && is_floating(source.dtype)) {
    return copy_converted(backend, {memory_.data(), *type_->dtype, {n_rows_, width_}}, source);
  }
  LATHE_CHECK(static_cast<std::int64_t>(source.n_bytes()) == n_bytes);
  auto* const to = static_cast<std::byte*>(memory_.data());
  const auto* const from = source.as<const std::byte>();
  backend.parallel_for((n_bytes + kBytesOfCopy - 1) / kBytesOfCopy, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kBytesOfCopy, last = std::min(end * kBytesOfCopy, n_bytes);
    std::memcpy(to + first, from + first, static_cast<std::size_t>(last - first));
  });
}

void TokenTable::read_row(std::int64_t id, float* to) const {
  LATHE_CHECK(id >= 0 && id < n_rows_);
  const auto* const row = static_cast<const std::byte*>(memory_.data()) + id * row_bytes();
  if (!type_->dtype) return type_->decode(row, width_ / type_->block, to);
  switch (*type_->dtype) {
    case kernels::Dtype::bf16: return convert_row<std::uint16_t>(row, width_, to, kernels::bf16_to_f32);
    case kernels::Dtype::f16: return convert_row<std::uint16_t>(row, width_, to, kernels::f16_to_f32);
    default: LATHE_CHECK(*type_->dtype == kernels::Dtype::f32); std::memcpy(to, row, static_cast<std::size_t>(row_bytes()));
  }
}

}  // namespace lathe::engine
