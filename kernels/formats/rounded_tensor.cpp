// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/rounded_tensor.h"

#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"

namespace lathe::kernels {

RoundedTensor::RoundedTensor(WeightFormat format, const TensorView& source, const ParallelFor& parallel_for)
    : source_(source), element_(descriptor_of(format).element) {
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

}  // namespace lathe::kernels
