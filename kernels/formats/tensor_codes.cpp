// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/tensor_codes.h"

#include <algorithm>

#include "kernels/formats/element.h"

namespace lathe::kernels {
namespace {

// Weights whose codes are encoded and decoded at a time by decoded_row().
constexpr std::size_t kPart = 256;
// Largest group of a format whose scales are computed before all codes.
constexpr std::int64_t kMaxGroup = 256;

}  // namespace

bool rows_begin_groups(const CodedFormat& format, std::int64_t k) {
  return !format.groups_span_rows || k % format.group == 0;
}

std::int64_t weights_of_row(const CodedFormat& format, const TensorView& source) {
  if (source.dtype != Dtype::u8) return source.dim(1);
  LATHE_CHECK(format.blocks != nullptr);
  const StoredBlocks& blocks = *format.blocks;
  const std::int64_t n_bytes = source.dim(1);
  const std::int64_t whole = format.group == 0 ? n_bytes : blocks.bytes_of(format.group);
  const std::int64_t n_groups = (n_bytes + whole - 1) / whole;
  return (n_bytes - n_groups * blocks.scale_bytes) * 8 / blocks.code_bits;
}

TensorCodes::TensorCodes(const CodedFormat& format, const TensorView& source, const ParallelFor& parallel_for)
    : format_(format), source_(source), k_(weights_of_row(format, source)) {
  LATHE_CHECK(format.has_codes() && (is_stored() || is_floating(source.dtype)));
  if (needs_all_scales()) {
    LATHE_CHECK(!format.has_zeros());
    find_scales(parallel_for);
  }
  if (format.scales == ScaleLayout::nested) nested_ = nest(scales_, parallel_for);
}

bool TensorCodes::needs_all_scales() const {
  return format_.scales == ScaleLayout::nested || !rows_begin_groups(format_, k_);
}

std::int64_t TensorCodes::scales_of_row() const { return format_.group == 0 ? 1 : (k_ + format_.group - 1) / format_.group; }

void TensorCodes::find_scales(const ParallelFor& parallel_for) {
  const std::int64_t n = source_.dim(0) * k_;
  const std::int64_t group = format_.group;
  LATHE_CHECK(source_.strides[0] == k_ && group <= kMaxGroup);
  scales_.resize(static_cast<std::size_t>((n + group - 1) / group));
  parallel_for(static_cast<std::int64_t>(scales_.size()), [&](std::int64_t begin, std::int64_t end) {
    float weights[kMaxGroup];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::span<float> some(weights, static_cast<std::size_t>(std::min(group, n - i * group)));
      load_elements(source_.data, source_.dtype, i * group, some);
      scales_[static_cast<std::size_t>(i)] = format_.scale_of(format_, some).scale;
    }
  });
}

template <class Body>
void TensorCodes::for_groups(std::int64_t row, const Body& body) const {
  const std::int64_t group = format_.group == 0 ? k_ : format_.group;
  const std::int64_t offset = format_.groups_span_rows ? row * k_ : 0;
  std::int64_t index = offset / group;
  for (std::int64_t begin = 0; begin < k_; ++index) {
    const std::int64_t end = std::min((index + 1) * group - offset, k_);
    body(begin, end, static_cast<std::size_t>(index));
    begin = end;
  }
}

CodeScale TensorCodes::scale_of(std::size_t group, std::span<const float> weights) const {
  return scales_.empty() ? format_.scale_of(format_, weights) : CodeScale{.scale = scales_[group]};
}

void TensorCodes::row(std::int64_t row, std::span<float> weights, std::span<std::uint8_t> codes,
                      std::span<CodeScale> scales) const {
  LATHE_CHECK(rows_begin_groups(format_, k_));
  if (is_stored()) {
    read_blocks(row, codes, scales);
    const auto group = static_cast<std::size_t>(format_.group == 0 ? k_ : format_.group);
    for (std::size_t i = 0; i < codes.size(); ++i) weights[i] = format_.decode(format_, codes[i], scales[i / group]);
    return;
  }
  load_elements(source_.data, source_.dtype, row * source_.strides[0], weights);
  std::size_t i = 0;
  for_groups(row, [&](std::int64_t begin, std::int64_t end, std::size_t group) {
    const std::span<const float> some(weights.data() + begin, weights.data() + end);
    scales[i] = scale_of(group, some);
    format_.encode(format_, some, scales[i], codes.data() + begin);
    ++i;
  });
}

void TensorCodes::read_blocks(std::int64_t row, std::span<std::uint8_t> codes, std::span<CodeScale> scales) const {
  const std::byte* block = source_.row<const std::byte>(row);
  const std::size_t group = format_.group == 0 ? codes.size() : static_cast<std::size_t>(format_.group);
  for (CodeScale& scale : scales) {
    const auto some = codes.first(std::min(group, codes.size()));
    scale = format_.blocks->read(block, some);
    block += format_.blocks->bytes_of(static_cast<std::int64_t>(some.size()));
    codes = codes.subspan(some.size());
  }
}

void TensorCodes::decoded_row(std::int64_t row, std::span<float> weights) const {
  if (is_stored()) {
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(k_));
    std::vector<CodeScale> scales(static_cast<std::size_t>(scales_of_row()));
    return this->row(row, weights, codes, scales);
  }
  load_elements(source_.data, source_.dtype, row * source_.strides[0], weights);
  for_groups(row, [&](std::int64_t begin, std::int64_t end, std::size_t group) {
    const std::span<float> some(weights.data() + begin, weights.data() + end);
    const CodeScale scale = scale_of(group, some);
    const CodeScale stored = format_.scales == ScaleLayout::nested ? CodeScale{.scale = nested_.at(group)} : scale;
    for (std::size_t first = 0; first < some.size(); first += kPart) {
      std::uint8_t codes[kPart];
      const std::span<float> part = some.subspan(first, std::min(kPart, some.size() - first));
      format_.encode(format_, part, scale, codes);
      for (std::size_t i = 0; i < part.size(); ++i) part[i] = format_.decode(format_, codes[i], stored);
    }
  });
}

}  // namespace lathe::kernels
