// SPDX-License-Identifier: Apache-2.0
#include "engine/load/coded_tensor.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/api/check.h"
#include "kernels/api/dtype.h"

namespace lathe::engine {
namespace {

using kernels::WeightFormat;

// Rows that a thread reads at a time: one cache line, where files interleave words of neighbouring rows.
constexpr std::int64_t kRowsAtATime = 16;
constexpr int kMiddleOf4 = 8, kMiddleOf8 = 128;

constexpr WeightFormat kWhole4[] = {WeightFormat::int4_g128,      WeightFormat::int4_g64,      WeightFormat::int4_g32,
                                    WeightFormat::int4_g128_asym, WeightFormat::int4_g64_asym, WeightFormat::int4_g32_asym};
constexpr WeightFormat kWhole8[] = {WeightFormat::int8_g128,    WeightFormat::int8_g64,       WeightFormat::int8_g32,
                                    WeightFormat::int8_channel, WeightFormat::int8_g128_asym, WeightFormat::int8_g64_asym,
                                    WeightFormat::int8_g32_asym};
constexpr WeightFormat kOfBytes[] = {WeightFormat::int8_channel, WeightFormat::int8_g128,      WeightFormat::int8_g64,
                                     WeightFormat::int8_g32,     WeightFormat::int8_g128_asym, WeightFormat::int8_g64_asym,
                                     WeightFormat::int8_g32_asym};
constexpr WeightFormat kLlmInt8[] = {WeightFormat::llm_int8};
constexpr WeightFormat kE4m3[] = {WeightFormat::fp8_weight_only, WeightFormat::fp8_channel, WeightFormat::fp8_g128};
constexpr WeightFormat kNf4[] = {WeightFormat::nf4, WeightFormat::nf4_weight_only};
constexpr WeightFormat kMxfp4[] = {WeightFormat::mxfp4, WeightFormat::mxfp4_weight_only};
constexpr WeightFormat kMinned4[] = {WeightFormat::int4_g32_min, WeightFormat::int4_g16_min, WeightFormat::int8_g32_min,
                                     WeightFormat::int8_g16_min};
constexpr WeightFormat kMinned8[] = {WeightFormat::int8_g32_min, WeightFormat::int8_g16_min};
constexpr WeightFormat kInt4Subscaled[] = {WeightFormat::int4_g16_min, WeightFormat::int8_g16_min};
constexpr WeightFormat kInt8Subscaled[] = {WeightFormat::int8_g16, WeightFormat::int8_g16_min};
constexpr WeightFormat kIq4[] = {WeightFormat::iq4};
constexpr WeightFormat kFp4[] = {WeightFormat::fp4, WeightFormat::fp4_weight_only};

std::span<const WeightFormat> candidates_of(CodeEncoding kind) {
  switch (kind) {
    case CodeEncoding::int4: return kWhole4;
    case CodeEncoding::int8: return kWhole8;
    case CodeEncoding::int8_dynamic: return kOfBytes;
    case CodeEncoding::llm_int8: return kLlmInt8;
    case CodeEncoding::e4m3: return kE4m3;
    case CodeEncoding::nf4: return kNf4;
    case CodeEncoding::fp4: return kFp4;
    case CodeEncoding::mxfp4: return kMxfp4;
    case CodeEncoding::uint4_min: return kMinned4;
    case CodeEncoding::uint8_min: return kMinned8;
    case CodeEncoding::int4_subscaled: return kInt4Subscaled;
    case CodeEncoding::int8_subscaled: return kInt8Subscaled;
    case CodeEncoding::iq4: return kIq4;
    case CodeEncoding::codebook4: return {};
  }
  return {};
}

bool has_4_bits(CodeEncoding kind) {
  return kind == CodeEncoding::int4 || kind == CodeEncoding::uint4_min || kind == CodeEncoding::int4_subscaled;
}

/// The code of value 0 where no zero point is stored.
int middle_of(CodeEncoding kind) { return has_minimums(kind) ? 0 : has_4_bits(kind) ? kMiddleOf4 : kMiddleOf8; }

/// Calls body(rows) for every run of rows; each thread has its own buffers.
template <class Body>
void for_rows(const CodedTensor& tensor, const kernels::ParallelFor& parallel_for, const Body& body) {
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    CodedRows rows;
    for (std::int64_t part = begin; part < end; ++part) {
      rows.first = part * kRowsAtATime;
      rows.n = std::min(kRowsAtATime, tensor.n_rows - rows.first);
      rows.codes.resize(static_cast<std::size_t>(rows.n * tensor.k));
      rows.scales.resize(static_cast<std::size_t>(rows.n * tensor.n_groups));
      if (tensor.has_zeros) rows.zeros.resize(rows.scales.size());
      tensor.read(rows);
      body(rows);
    }
  };
  const std::int64_t n_parts = (tensor.n_rows + kRowsAtATime - 1) / kRowsAtATime;
  parallel_for ? parallel_for(n_parts, some) : some(0, n_parts);
}

/// Copies one row and repeats its scales for a weight format whose groups are parts of the tensor's groups.
class SpreadRow {
 public:
  /// `order`: input_order().
  SpreadRow(const CodedTensor& tensor, WeightFormat format, std::span<const std::int32_t> order)
      : tensor_(tensor),
        order_(order),
        codes_(order.size()),
        group_(kernels::group_of(format, tensor.k)),
        has_zeros_(kernels::has_zero_points(format)),
        has_minimums_(kernels::has_minimums(format)) {
    const std::int64_t n = (tensor.k + group_ - 1) / group_;
    scales_.resize(static_cast<std::size_t>(n));
    if (has_zeros_) zeros_.assign(scales_.size(), static_cast<float>(middle_of(tensor.kind)));
  }

  kernels::CodedRow of(const CodedRows& rows, std::int64_t row) {
    const float* const scales = rows.scales.data() + row * tensor_.n_groups;
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      const std::int64_t from = static_cast<std::int64_t>(i) * group_ / tensor_.group;
      scales_[i] = scales[from];
      if (has_minimums_) zeros_[i] = -static_cast<float>(middle_of(tensor_.kind)) * scales_[i];
      if (has_zeros_ && tensor_.has_zeros) zeros_[i] = rows.zeros[static_cast<std::size_t>(row * tensor_.n_groups + from)];
    }
    const std::span codes(rows.codes.data() + row * tensor_.k, static_cast<std::size_t>(tensor_.k));
    for (std::size_t i = 0; i < order_.size(); ++i) codes_[i] = codes[static_cast<std::size_t>(order_[i])];
    return {.codes = order_.empty() ? codes : std::span<const std::uint8_t>(codes_), .scales = scales_, .zeros = zeros_};
  }

 private:
  const CodedTensor& tensor_;
  std::span<const std::int32_t> order_;
  std::vector<std::uint8_t> codes_;  ///< codes of a row in `order`
  std::int64_t group_;
  bool has_zeros_, has_minimums_;
  std::vector<float> scales_, zeros_;
};

/// Decodes rows that were read to f32.
class RowDecoder {
 public:
  RowDecoder(const CodedTensor& tensor, const CodedRows& rows)
      : tensor_(tensor), rows_(rows), has_minimums_(has_minimums(tensor.kind)) {}

  void decode(std::int64_t row, float* to) const {
    const std::uint8_t* const codes = rows_.codes.data() + row * tensor_.k;
    if (!tensor_.group_of.empty()) {
      for (std::int64_t i = 0; i < tensor_.k; ++i) {
        to[i] = number(codes[i], scale_of(row, tensor_.group_of[static_cast<std::size_t>(i)]));
      }
      return;
    }
    for (std::int64_t group = 0; group < tensor_.n_groups; ++group) {
      const Scale scale = scale_of(row, group);
      const std::int64_t end = std::min((group + 1) * tensor_.group, tensor_.k);
      for (std::int64_t i = group * tensor_.group; i < end; ++i) to[i] = number(codes[i], scale);
    }
  }

 private:
  struct Scale {
    /// `zero`: the minimum; or the zero point minus the middle, since the table of values subtracts the middle already.
    float scale, zero;
  };

  Scale scale_of(std::int64_t row, std::int64_t group) const {
    const auto at = static_cast<std::size_t>(row * tensor_.n_groups + group);
    return {rows_.scales[at], tensor_.has_zeros ? rows_.zeros[at] - static_cast<float>(middle_of(tensor_.kind)) : 0};
  }

  float number(std::uint8_t code, const Scale& scale) const {
    const float whole = (*tensor_.numbers)[code];
    if (has_minimums_) return whole * scale.scale + scale.zero;
    const float number = (whole - scale.zero) * scale.scale;
    return tensor_.step == 1 ? number : number * tensor_.step;
  }

  const CodedTensor& tensor_;
  const CodedRows& rows_;
  bool has_minimums_;
};

}  // namespace

bool has_minimums(CodeEncoding kind) { return kind == CodeEncoding::uint4_min || kind == CodeEncoding::uint8_min; }

namespace {

std::vector<float> make_numbers(CodeEncoding kind) {
  std::vector<float> numbers;
  if (kind == CodeEncoding::nf4) numbers = kernels::numbers_of_codes(WeightFormat::nf4);
  if (kind == CodeEncoding::fp4) numbers = kernels::numbers_of_codes(WeightFormat::fp4);
  if (kind == CodeEncoding::iq4) numbers = kernels::numbers_of_codes(WeightFormat::iq4);
  if (kind == CodeEncoding::mxfp4) numbers = kernels::numbers_of_codes(WeightFormat::mxfp4);
  if (!numbers.empty()) return numbers;
  const int n = has_4_bits(kind) ? 16 : 256;
  for (int code = 0; code < n; ++code) {
    const auto whole = static_cast<float>(code - middle_of(kind));
    numbers.push_back(kind == CodeEncoding::e4m3 ? kernels::e4m3_to_f32(static_cast<std::uint8_t>(code)) : whole);
  }
  return numbers;
}

}  // namespace

std::shared_ptr<const std::vector<float>> numbers_of(CodeEncoding kind) {
  LATHE_CHECK(kind != CodeEncoding::codebook4);
  // All tensors of an encoding share one table: a model of experts has thousands of tensors.
  static const auto all = [] {
    std::array<std::shared_ptr<const std::vector<float>>, static_cast<std::size_t>(CodeEncoding::iq4) + 1> tables;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const auto one = static_cast<CodeEncoding>(i);
      if (one != CodeEncoding::codebook4) tables[i] = std::make_shared<std::vector<float>>(make_numbers(one));
    }
    return tables;
  }();
  return all[static_cast<std::size_t>(kind)];
}

bool has_even_groups(const CodedTensor& tensor) {
  std::vector<std::int64_t> n_left(static_cast<std::size_t>(tensor.n_groups), tensor.group);
  n_left.back() = tensor.k - (tensor.n_groups - 1) * tensor.group;
  for (const std::int32_t group : tensor.group_of) --n_left[static_cast<std::size_t>(group)];
  return std::all_of(n_left.begin(), n_left.end(), [](std::int64_t n) { return n == 0; });
}

std::vector<std::int32_t> input_order(const CodedTensor& tensor) {
  std::vector<std::int32_t> order(tensor.group_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return tensor.group_of[static_cast<std::size_t>(a)] < tensor.group_of[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<WeightFormat> formats_that_keep(const CodedTensor& tensor, const CodedValues& values) {
  std::vector<WeightFormat> formats;
  if (!tensor.group_of.empty() && !has_even_groups(tensor)) return formats;
  for (const WeightFormat format : candidates_of(tensor.kind)) {
    const std::int64_t group = kernels::group_of(format, tensor.k);
    const bool has_scales =
        (tensor.n_groups == 1 || tensor.group % group == 0) && (values.are_halves || !kernels::has_half_scales(format));
    const bool has_zeros = values.are_middle || kernels::has_zero_points(format);
    if (!tensor.group_of.empty() && kernels::rounds_whole_rows(format)) continue;
    if (has_scales && has_zeros && kernels::coded_row_bytes(format, tensor.k) > 0) formats.push_back(format);
  }
  return formats;
}

void decode(const CodedTensor& tensor, const kernels::ParallelFor& parallel_for, float* to) {
  for_rows(tensor, parallel_for, [&](const CodedRows& rows) {
    const RowDecoder decoder(tensor, rows);
    for (std::int64_t r = 0; r < rows.n; ++r) decoder.decode(r, to + (rows.first + r) * tensor.k);
  });
}

void write_rows(const CodedTensor& tensor, WeightFormat format, const kernels::ParallelFor& parallel_for, std::byte* to) {
  LATHE_CHECK(std::find(tensor.formats.begin(), tensor.formats.end(), format) != tensor.formats.end());
  const std::int64_t row_bytes = kernels::coded_row_bytes(format, tensor.k);
  const std::vector<std::int32_t> order = input_order(tensor);
  for_rows(tensor, parallel_for, [&](const CodedRows& rows) {
    SpreadRow spread(tensor, format, order);
    for (std::int64_t r = 0; r < rows.n; ++r) {
      kernels::write_coded_row(format, spread.of(rows, r), to + (rows.first + r) * row_bytes);
    }
  });
}

}  // namespace lathe::engine
