// SPDX-License-Identifier: Apache-2.0
// Attention as families have it beside the plain one: sliding windows, soft caps, slopes of ALiBi, sinks.
#include <vector>

#include "tests/kernels/attention_sequence.h"
#include "tests/support/test_class.h"

namespace attention_forms_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr double kTolerance = 1e-5;

/// Numbers of each head: 0.5, 0.25, 0.125...
std::vector<float> halves(int n_heads) {
  std::vector<float> numbers;
  for (int head = 0; head < n_heads; ++head) numbers.push_back(std::exp2(-1.0F - static_cast<float>(head)));
  return numbers;
}

double error_of(Backend& backend, const HeadShape& heads, int n_tokens, Dtype dtype, const AttentionForm& form,
                int chunk = 0) {
  const auto reference = make_reference_backend();
  Sequence want(*reference, heads, n_tokens, 16, dtype);
  Sequence got(backend, heads, n_tokens, 16, dtype);
  want.set_form(form);
  got.set_form(form);
  const RandomTensor wanted = want.attend_all(n_tokens);
  return relative_error(got.attend_all(chunk > 0 ? chunk : n_tokens).view(), wanted.view());
}

}  // namespace

class AttentionFormsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void windows_equal_the_reference_data() { add_isa_rows(); }
  void windows_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const int window : {1, 2, 15, 16, 17, 63, 64, 65, 100, 149, 150, 1000}) {
      for (const HeadShape& heads : {kTiny, kSingle}) {
        QVERIFY2(error_of(*backend, heads, 150, Dtype::bf16, {.window = window}) <= kTolerance,
                 qPrintable(QString::number(window)));
      }
    }
    for (const Dtype dtype : kKvDtypes) QVERIFY(error_of(*backend, kGrouped, 100, dtype, {.window = 33}) <= kTolerance);
  }

  /// Tokens before the window are not read: neither whole parts of a long context nor the first tokens of a part.
  void windows_leave_long_contexts_alone_data() { add_isa_rows(); }
  void windows_leave_long_contexts_alone() {
    const auto backend = backend_of_row(3);
    for (const int window : {40, 600}) {
      QVERIFY(error_of(*backend, kSingle, 1300, Dtype::f16, {.window = window}, 321) <= kTolerance);
    }
  }

  void soft_caps_equal_the_reference_data() { add_isa_rows(); }
  void soft_caps_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const float cap : {0.5F, 5.0F, 50.0F}) {
      QVERIFY(error_of(*backend, kTiny, 100, Dtype::f32, {.soft_cap = cap}) <= kTolerance);
      QVERIFY(error_of(*backend, kGrouped, 70, Dtype::i8, {.soft_cap = cap}) <= kTolerance);
    }
  }

  void slopes_equal_the_reference_data() { add_isa_rows(); }
  void slopes_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const HeadShape& heads : {kTiny, kGrouped, kSingle}) {
      const std::vector<float> slopes = halves(heads.n_heads);
      QVERIFY(error_of(*backend, heads, 130, Dtype::f32, {.slopes = slopes}) <= kTolerance);
    }
  }

  /// Slopes that are no power of two, from positions on that bfloat16 does not have.
  void rounded_slopes_equal_the_reference_data() { add_isa_rows(); }
  void rounded_slopes_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const HeadShape& heads : {kTiny, kGrouped, kSingle}) {
      std::vector<float> slopes = halves(heads.n_heads);
      for (float& slope : slopes) slope = bf16_to_f32(f32_to_bf16(slope * 1.414F));
      const AttentionForm rounded{.slopes = slopes, .rounded_slope_scale = 0.25F};
      QVERIFY(error_of(*backend, heads, 400, Dtype::f32, rounded) <= kTolerance);
      std::vector<float> scaled = slopes;
      for (float& slope : scaled) slope *= rounded.rounded_slope_scale;
      const auto reference = make_reference_backend();
      Sequence with(*reference, heads, 400, 16, Dtype::f32), without(*reference, heads, 400, 16, Dtype::f32);
      with.set_form(rounded);
      without.set_form({.slopes = scaled});
      QVERIFY(relative_error(with.attend_all(400).view(), without.attend_all(400).view()) > 100 * kTolerance);
    }
  }

  void sinks_equal_the_reference_data() { add_isa_rows(); }
  void sinks_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const float more : {-5.0F, 0.0F, 20.0F}) {
      std::vector<float> sinks = halves(kTiny.n_heads);
      for (float& sink : sinks) sink += more;
      QVERIFY(error_of(*backend, kTiny, 130, Dtype::f32, {.sinks = sinks}) <= kTolerance);
      QVERIFY(error_of(*backend, kTiny, 130, Dtype::f32, {.window = 20, .sinks = sinks}) <= kTolerance);
    }
  }

  /// In an encoder, every row attends to the whole text.
  void rows_without_order_equal_the_reference_data() { add_isa_rows(); }
  void rows_without_order_equal_the_reference() {
    const auto backend = backend_of_row(3);
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      for (const int n_tokens : {1, 5, 64, 130}) {
        QVERIFY2(error_of(*backend, kTiny, n_tokens, dtype, {.is_causal = false}) <= kTolerance,
                 qPrintable(QString::number(n_tokens)));
      }
    }
    QVERIFY(error_of(*backend, kSingle, 1100, Dtype::f32, {.is_causal = false}) <= kTolerance);
    QVERIFY(error_of(*backend, kGrouped, 70, Dtype::f32, {.is_causal = false}) <= kTolerance);
  }

  /// The first row of a causal text sees one token: were the form not read, it would be the same here.
  void rows_without_order_see_what_follows_data() { add_isa_rows(); }
  void rows_without_order_see_what_follows() {
    const auto backend = backend_of_row();
    Sequence causal(*backend, kTiny, 40, 16, Dtype::f32), both_ways(*backend, kTiny, 40, 16, Dtype::f32);
    both_ways.set_form({.is_causal = false});
    const RandomTensor before = causal.attend_all(40), whole = both_ways.attend_all(40);
    QVERIFY(!same_bits(whole.view().rows(0, 39), before.view().rows(0, 39)));
    QVERIFY(same_bits(whole.view().rows(39, 1), before.view().rows(39, 1)));
  }

  void chunks_and_threads_change_no_bit_data() { add_isa_rows(); }
  void chunks_and_threads_change_no_bit() {
    const std::vector<float> slopes = halves(kGrouped.n_heads), sinks = halves(kGrouped.n_heads);
    const auto one = backend_of_row(1);
    const auto three = backend_of_row(3);
    for (const AttentionForm& form :
         {AttentionForm{.window = 70}, AttentionForm{.window = 600, .soft_cap = 20},
          AttentionForm{.slopes = slopes, .sinks = sinks}, AttentionForm{.slopes = slopes, .rounded_slope_scale = 0.3F}}) {
      Sequence alone(*one, kGrouped, 1100, 16, Dtype::bf16);
      Sequence shared(*three, kGrouped, 1100, 16, Dtype::bf16);
      alone.set_form(form);
      shared.set_form(form);
      const RandomTensor whole = alone.attend_all(1100);
      for (const int chunk : {1100, 64, 61, 7}) {
        QVERIFY2(same_bits(shared.attend_all(chunk).view(), whole.view()), qPrintable(QString::number(chunk)));
      }
    }
  }
};

LATHE_TEST(AttentionFormsTest)

}  // namespace attention_forms_test
#include "attention_forms_test.moc"
