// SPDX-License-Identifier: Apache-2.0
#include "tests/support/coded_product.h"

#include <algorithm>
#include <cmath>

#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/formats/iq4/iq4_book.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"

namespace lathe::tests {
namespace {

using namespace kernels;

constexpr std::int64_t kActivationBlock = 128;
constexpr float kOutlier = 6;
constexpr double kTolerance = 5e-6;

/// Rounds numbers that share a scale to e4m3: code times scale.
void round_to_e4m3(const float* x, std::int64_t n, double* out) {
  float largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float to_code = largest > 0 ? 448.0F / largest : 0;
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = e4m3_to_f32(f32_to_e4m3(x[i] * to_code)) * static_cast<double>(largest / 448);
}

/// Rounds numbers that share a scale: code times scale.
void round_together(const float* x, std::int64_t n, bool leaves_outliers, double* out) {
  float largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!leaves_outliers || std::fabs(x[i]) < kOutlier) largest = std::max(largest, std::fabs(x[i]));
  }
  const float to_code = largest > 0 ? 127.0F / largest : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_kept = leaves_outliers && std::fabs(x[i]) >= kOutlier;
    out[i] = is_kept ? static_cast<double>(x[i]) : static_cast<double>(std::nearbyint(x[i] * to_code)) * (largest / 127);
  }
}

/// One row rounded as the definition says.
std::vector<double> rounded_activations(const CodedFormat& format, const float* x, std::int64_t k) {
  std::vector<double> rounded(static_cast<std::size_t>(k));
  if (!rows_begin_groups(format, k) || format.activations == ActivationScale::none) return {x, x + k};
  if (format.kind == CodeElement::e4m3) {
    round_to_e4m3(x, k, rounded.data());
    return rounded;
  }
  const std::int64_t block = format.activations == ActivationScale::block ? kActivationBlock : k;
  for (std::int64_t begin = 0; begin < k; begin += block) {
    round_together(x + begin, std::min(block, k - begin), format.activations == ActivationScale::row_of_inliers,
                   rounded.data() + begin);
  }
  return rounded;
}

/// The number that kernels multiply for a code.
double number_of(WeightFormat format, std::uint8_t code) {
  switch (format) {
    case WeightFormat::nf4:
    case WeightFormat::nf4_nested: return WholeBook<Nf4Book>().codes[code] - 128;
    case WeightFormat::fp4:
    case WeightFormat::fp4_nested: return WholeBook<Fp4Book>().codes[code] - 128;
    case WeightFormat::nf4_weight_only:
    case WeightFormat::nf4_nested_weight_only: return Nf4Book::kValues[code];
    case WeightFormat::fp4_weight_only:
    case WeightFormat::fp4_nested_weight_only: return Fp4Book::kValues[code];
    case WeightFormat::mxfp4: return WholeBook<Mxfp4Book>().codes[code] - 128;
    case WeightFormat::iq4: return WholeBook<Iq4Book>().codes[code] - 128;
    case WeightFormat::mxfp4_weight_only: return Mxfp4Book::kValues[code];
    case WeightFormat::fp8_channel:
    case WeightFormat::fp8_weight_only:
    case WeightFormat::fp8_g128: return static_cast<double>(e4m3_to_f32(code)) / 256;
    default: return code - (1 << (descriptor_of(format).codes.bits - 1));
  }
}

/// A row of weights as kernels multiply them, and how large the parts are that each is the sum of.
struct RoundedWeights {
  std::vector<double> values, sizes;

  void add(double value, double size) {
    values.push_back(value);
    sizes.push_back(size);
  }
};

RoundedWeights rounded_weights(WeightFormat format, const TensorCodes& tensor, std::int64_t row, std::int64_t k) {
  const CodedFormat& coded = descriptor_of(format).codes;
  std::vector<float> weights(static_cast<std::size_t>(k));
  RoundedWeights rounded;
  if (!rows_begin_groups(coded, k)) {
    tensor.decoded_row(row, weights);
    for (const float weight : weights) rounded.add(weight, std::fabs(weight));
    return rounded;
  }
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(k));
  std::vector<CodeScale> scales(static_cast<std::size_t>(tensor.scales_of_row()));
  tensor.row(row, weights, codes, scales);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t group = coded.group == 0 ? 0 : i / static_cast<std::size_t>(coded.group);
    const float scale = coded.scales == ScaleLayout::nested
                            ? tensor.nested().at(static_cast<std::size_t>(row) * scales.size() + group)
                            : scales[group].scale;
    if (coded.has_minimums()) {
      const double of_code = double{scale} * codes[i], minimum = scales[group].zero;
      rounded.add(of_code + minimum, std::fabs(of_code) + std::fabs(minimum));
      continue;
    }
    const double number = coded.has_zeros() ? codes[i] - scales[group].zero : number_of(format, codes[i]);
    rounded.add(number * coded.step * scale, std::fabs(number * coded.step * scale));
  }
  return rounded;
}

}  // namespace

const std::vector<WeightFormat>& coded_formats() {
  static const std::vector<WeightFormat> formats = [] {
    std::vector<WeightFormat> all;
    for (const FormatDescriptor& format : weight_formats()) {
      if (format.is_coded()) all.push_back(format.format);
    }
    return all;
  }();
  return formats;
}

TensorCodes codes_of(WeightFormat format, const TensorView& weights) {
  return TensorCodes(descriptor_of(format).codes, weights, [](std::int64_t n, const auto& body) { body(0, n); });
}

double error_of_product(WeightFormat format, const TensorView& got, const TensorView& x, const TensorView& weights,
                        const TensorView& bias) {
  const CodedFormat& coded = descriptor_of(format).codes;
  const TensorCodes tensor = codes_of(format, weights);
  std::vector<std::vector<double>> rows;
  for (std::int64_t m = 0; m < x.dim(0); ++m) rows.push_back(rounded_activations(coded, x.row<float>(m), x.dim(1)));
  double furthest = 0, largest = 0, largest_terms = 0;
  for (std::int64_t n = 0; n < weights.dim(0); ++n) {
    const RoundedWeights w = rounded_weights(format, tensor, n, weights.dim(1));
    for (std::int64_t m = 0; m < x.dim(0); ++m) {
      double sum = bias.data != nullptr ? bias.as<float>()[n] : 0.0, terms = std::fabs(sum);
      for (std::size_t i = 0; i < w.values.size(); ++i) {
        sum += rows[static_cast<std::size_t>(m)][i] * w.values[i];
        terms += std::fabs(rows[static_cast<std::size_t>(m)][i]) * w.sizes[i];
      }
      const double error = std::fabs(got.row<float>(m)[n] - sum);
      furthest = std::isnan(error) ? INFINITY : std::max(furthest, error);
      largest = std::max(largest, std::fabs(sum));
      largest_terms = std::max(largest_terms, terms);
    }
  }
  const double whole = coded.has_minimums() ? largest_terms : largest;
  return whole > 0 ? furthest / whole : furthest;
}

double tolerance_of(WeightFormat format) {
  const CodedFormat& codes = descriptor_of(format).codes;
  if (codes.has_minimums()) return 1e-6;  // of sums that are some ten times as large as their results
  return codes.multiplies_bytes() ? kTolerance : 4 * kTolerance;
}

}  // namespace lathe::tests
