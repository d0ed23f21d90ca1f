// SPDX-License-Identifier: Apache-2.0
// Products of what GGUF files hold: groups of 16, minimums, the book of IQ4; and layers that mix formats.
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace minned_linear_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;
constexpr WeightFormat kFormats[] = {WeightFormat::int8_g16,     WeightFormat::int4_g32_min, WeightFormat::int8_g32_min,
                                     WeightFormat::int4_g16_min, WeightFormat::int8_g16_min, WeightFormat::iq4};

/// Whole numbers of magnitude 127 at most, which each block has: their codes are themselves.
RandomTensor whole_numbers(std::int64_t m, std::int64_t k, RandomNumbers& numbers) {
  RandomTensor x(Dtype::f32, {m, k}, numbers);
  for (std::int64_t i = 0; i < m * k; ++i) {
    float& number = x.view().as<float>()[i];
    number = i % k % 128 == 0 ? 127.0F : std::nearbyint(number * 126);
  }
  return x;
}

}  // namespace

class MinnedLinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void activations_without_rounding_give_the_product_of_the_numbers_data() { add_isa_rows(); }
  void activations_without_rounding_give_the_product_of_the_numbers() {
    const auto backend = backend_of_row(), reference = make_reference_backend();
    RandomNumbers numbers(13);
    for (const std::int64_t k : {256, 272}) {
      const RandomTensor weights(Dtype::f32, {37, k}, numbers), x = whole_numbers(40, k, numbers);
      for (const WeightFormat format : kFormats) {
        for (const std::int64_t m : {1, 2, 5, 8, 9, 40}) {
          const RandomTensor got({m, 37}), want({m, 37});
          backend->linear(got.view(), x.view().rows(0, m), *packed(*backend, format, weights.view()), kNoBias);
          reference->linear(want.view(), x.view().rows(0, m), *packed(*reference, format, weights.view()), kNoBias);
          QVERIFY2(relative_error(got.view(), want.view()) <= 2e-6, descriptor_of(format).name.data());
        }
      }
    }
  }

  /// Where all weights of a group lie far from zero the minimum is most of them.
  void minimums_far_from_zero_are_not_lost_data() { add_isa_rows(); }
  void minimums_far_from_zero_are_not_lost() {
    const auto backend = backend_of_row(), reference = make_reference_backend();
    RandomNumbers numbers(14);
    const RandomTensor weights(Dtype::f32, {21, 256}, numbers), x = whole_numbers(9, 256, numbers);
    const RandomTensor got({9, 21}), want({9, 21});
    for (std::int64_t i = 0; i < 21 * 256; ++i) weights.view().as<float>()[i] += i % 64 < 32 ? 300.0F : -300.0F;
    for (const WeightFormat format : kFormats) {
      if (!descriptor_of(format).codes.has_minimums()) continue;
      backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
      reference->linear(want.view(), x.view(), *packed(*reference, format, weights.view()), kNoBias);
      QVERIFY2(relative_error(got.view(), want.view()) <= 5e-6, descriptor_of(format).name.data());
    }
  }

  /// Gate and up in one format, down in another: what lies between is packed for the other one.
  void an_mlp_of_two_formats_is_its_products_data() { add_isa_rows(); }
  void an_mlp_of_two_formats_is_its_products() {
    const auto backend = backend_of_row();
    constexpr std::int64_t kHidden = 192, kInner = 1088;
    constexpr std::pair<WeightFormat, WeightFormat> kPairs[] = {{WeightFormat::int4_g32_min, WeightFormat::int8_g16},
                                                                {WeightFormat::int8_g16, WeightFormat::int4_g32_min},
                                                                {WeightFormat::bf16, WeightFormat::int8_g32},
                                                                {WeightFormat::int8_channel, WeightFormat::f32}};
    RandomNumbers numbers(15);
    const RandomTensor up(Dtype::f32, {kInner, kHidden}, numbers, 0.1F), down(Dtype::f32, {kHidden, kInner}, numbers, 0.1F);
    for (const auto& [in, out] : kPairs) {
      const auto up_matrix = packed(*backend, in, up.view()), down_matrix = packed(*backend, out, down.view());
      for (const std::int64_t m : {1, 5, 40, 250}) {
        const RandomTensor x(Dtype::f32, {m, kHidden}, numbers), inner({m, kInner}), want({m, kHidden}), got({m, kHidden});
        backend->linear(inner.view(), x.view(), *up_matrix, kNoBias);
        for (std::int64_t i = 0; i < m * kInner; ++i) {
          inner.view().as<float>()[i] = std::fmax(inner.view().as<float>()[i], 0.0F);
        }
        backend->linear(want.view(), inner.view(), *down_matrix, kNoBias);
        backend->mlp(got.view(), {.x = x.view()}, {.activation = Activation::relu, .up = *up_matrix, .down = *down_matrix});
        QVERIFY2(same_bits(got.view(), want.view()), descriptor_of(in).name.data());
      }
    }
  }

  void the_bytes_are_those_of_the_codes_and_scales() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const std::size_t weights = 896 * 4864;
    constexpr std::size_t kBits[] = {10, 6, 10, 8, 12, 5};
    for (std::size_t i = 0; i < std::size(kFormats); ++i) {
      QCOMPARE(backend->packed_bytes(kFormats[i], 896, 4864), weights / 8 * kBits[i]);
    }
  }
};

LATHE_TEST(MinnedLinearTest)

}  // namespace minned_linear_test
#include "minned_linear_test.moc"
