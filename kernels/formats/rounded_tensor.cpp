// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/rounded_tensor.h"

#include <vector>

#include "kernels/api/coded_rows.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"

namespace lathe::kernels {

RoundedTensor::RoundedTensor(WeightFormat format, const TensorView& source, const ParallelFor& parallel_for)
    : source_(source), format_(format), element_(descriptor_of(format).element) {
  const FormatDescriptor& descriptor = descriptor_of(format);
  if (descriptor.is_coded()) codes_ = std::make_unique<TensorCodes>(descriptor.codes, source, parallel_for);
}

RoundedTensor::~RoundedTensor() = default;

void RoundedTensor::row(std::int64_t row, std::span<float> numbers) const {
  if (codes_ != nullptr) return codes_->decoded_row(row, numbers);
  load_elements(source_.data, source_.dtype, row * source_.strides[0], numbers);
  for (float& number : numbers) {
    store_element(&number, element_, 0, number);
    number = load_element(&number, element_, 0);
  }
}

void RoundedTensor::coded_row(std::int64_t row, std::span<std::byte> bytes) const {
  LATHE_CHECK(codes_ != nullptr && std::ssize(bytes) == coded_row_bytes(format_, source_.dim(1)));
  const auto k = static_cast<std::size_t>(source_.dim(1)), n_groups = static_cast<std::size_t>(codes_->scales_of_row());
  std::vector<float> weights(k), scales(n_groups), zeros(has_zero_points(format_) ? n_groups : 0);
  std::vector<std::uint8_t> codes(k);
  std::vector<CodeScale> groups(n_groups);
  codes_->row(row, weights, codes, groups);
  for (std::size_t i = 0; i < n_groups; ++i) scales[i] = groups[i].scale;
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = groups[i].zero;
  write_coded_row(format_, {.codes = codes, .scales = scales, .zeros = zeros}, bytes.data());
}

}  // namespace lathe::kernels
