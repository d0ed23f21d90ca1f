// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <vector>

#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace rowwise_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr double kTolerance = 1e-6;

/// Error of `op`, which writes to its tensor, against the reference.
double error_of(Backend& backend, const RandomTensor& out, const std::function<void(Backend&, const TensorView&)>& op) {
  const auto reference = make_reference_backend();
  const RandomTensor want = out.copy();
  const RandomTensor got = out.copy();
  op(*reference, want.view());
  op(backend, got.view());
  return relative_error(got.view(), want.view());
}

struct RopeTables {
  explicit RopeTables(std::int64_t half) : cos({100, half}), sin({100, half}) {
    for (std::int64_t p = 0; p < 100; ++p) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(p) * std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
        cos.view().row<float>(p)[i] = static_cast<float>(std::cos(angle));
        sin.view().row<float>(p)[i] = static_cast<float>(std::sin(angle));
      }
    }
  }
  RandomTensor cos;
  RandomTensor sin;
};

}  // namespace

class RowwiseTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rms_norm_equals_the_reference_data() { add_isa_rows(); }
  void rms_norm_equals_the_reference() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(1);
    for (const std::int64_t n : {1, 8, 63, 64, 65, 288, 900}) {
      const RandomTensor x(Dtype::f32, {5, n}, numbers, 4);
      const RandomTensor weight(Dtype::f32, {n}, numbers);
      QVERIFY(error_of(*backend, RandomTensor({5, n}), [&](Backend& b, const TensorView& out) {
                b.norm(out, x.view(), {.weight = weight.view(), .eps = 1e-5F});
              }) <= kTolerance);
    }
  }

  void rms_norm_of_zeros_is_zero_data() { add_isa_rows(); }
  void rms_norm_of_zeros_is_zero() {
    const auto backend = backend_of_row();
    const RandomTensor x({1, 40});
    RandomNumbers numbers(2);
    const RandomTensor weight(Dtype::f32, {40}, numbers);
    const RandomTensor out(Dtype::f32, {1, 40}, numbers);
    backend->norm(out.view(), x.view(), {.weight = weight.view(), .eps = 1e-5F});
    for (int i = 0; i < 40; ++i) QCOMPARE(out.view().as<float>()[i], 0.0F);
  }

  void add_rms_norm_updates_the_residual_and_norms_it_data() { add_isa_rows(); }
  void add_rms_norm_updates_the_residual_and_norms_it() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {6, 77}, numbers);
    const RandomTensor delta(Dtype::f32, {6, 77}, numbers);
    const RandomTensor weight(Dtype::f32, {77}, numbers);
    const RandomTensor fused_x = x.copy();
    const RandomTensor fused({6, 77});
    backend->add_norm(fused.view(), fused_x.view(), delta.view(), {.weight = weight.view(), .eps = 1e-6F});
    const RandomTensor apart({6, 77});
    backend->add(x.view(), delta.view());
    backend->norm(apart.view(), x.view(), {.weight = weight.view(), .eps = 1e-6F});
    QVERIFY(same_bits(fused_x.view(), x.view()));
    QVERIFY(same_bits(fused.view(), apart.view()));
  }

  void layer_norm_equals_the_reference_data() { add_isa_rows(); }
  void layer_norm_equals_the_reference() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(21);
    for (const std::int64_t n : {2, 8, 63, 64, 65, 288, 900}) {
      const RandomTensor x(Dtype::f32, {5, n}, numbers, 4);
      for (std::int64_t i = 0; i < 5 * n; ++i) x.view().as<float>()[i] += 10;  // a mean that must not eat the digits
      const RandomTensor weight(Dtype::f32, {n}, numbers);
      const RandomTensor bias(Dtype::f32, {n}, numbers);
      for (const TensorView& b : {bias.view(), TensorView()}) {
        const Norm norm{.kind = NormKind::layer, .weight = weight.view(), .bias = b, .eps = 1e-5F};
        QVERIFY(error_of(*backend, RandomTensor({5, n}),
                         [&](Backend& to, const TensorView& out) { to.norm(out, x.view(), norm); }) <= 20 * kTolerance);
      }
    }
  }

  void a_norm_may_write_where_it_reads_data() { add_isa_rows(); }
  void a_norm_may_write_where_it_reads() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(22);
    const RandomTensor x(Dtype::f32, {3, 77}, numbers, 2);
    const RandomTensor weight(Dtype::f32, {77}, numbers);
    for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
      const Norm norm{.kind = kind, .weight = weight.view(), .eps = 1e-5F};
      const RandomTensor apart({3, 77});
      backend->norm(apart.view(), x.view(), norm);
      const RandomTensor in_place = x.copy();
      backend->norm(in_place.view(), in_place.view(), norm);
      QVERIFY(same_bits(in_place.view(), apart.view()));
    }
  }

  void heads_are_normalised_one_by_one_data() { add_isa_rows(); }
  void heads_are_normalised_one_by_one() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(23);
    constexpr int kHeads = 3, kDim = 20;
    const RandomTensor wide(Dtype::f32, {4, 100}, numbers, 2);
    const RandomTensor shared(Dtype::f32, {kDim}, numbers);
    const RandomTensor own(Dtype::f32, {kHeads * kDim}, numbers);
    for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
      for (const RandomTensor* weight : {&shared, &own}) {
        const Norm norm{.kind = kind, .weight = weight->view(), .eps = 1e-5F};
        QVERIFY(error_of(*backend, wide, [&](Backend& b, const TensorView& x) {
                  b.norm_heads(x.columns(10, kHeads * kDim), kHeads, norm);
                }) <= 10 * kTolerance);
      }
    }
  }

  void maps_equal_the_reference_data() { add_isa_rows(); }
  void maps_equal_the_reference() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(24);
    const RandomTensor x(Dtype::f32, {3, 1001}, numbers, 40);
    QVERIFY(error_of(*backend, x, [](Backend& b, const TensorView& to) { b.scale(to, 0.3F); }) <= kTolerance);
    QVERIFY(error_of(*backend, x, [](Backend& b, const TensorView& to) { b.clamp(to, 7); }) == 0);
    for (const float cap : {0.5F, 30.0F, 1000.0F}) {
      QVERIFY(error_of(*backend, x, [&](Backend& b, const TensorView& to) { b.soft_cap(to, cap); }) <= kTolerance);
    }
  }

  void fill_reaches_every_number_data() { add_isa_rows(); }
  void fill_reaches_every_number() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(25);
    const RandomTensor wide(Dtype::f32, {2, 50}, numbers);
    const RandomTensor before = wide.copy();
    wide.view().row<float>(1)[12] = std::nanf("");
    backend->fill(wide.view().columns(10, 30), 0);
    for (std::int64_t m = 0; m < 2; ++m) {
      for (std::int64_t i = 10; i < 40; ++i) QCOMPARE(wide.view().row<float>(m)[i], 0.0F);
      for (const std::int64_t i : {9, 40}) QCOMPARE(wide.view().row<float>(m)[i], before.view().row<float>(m)[i]);
    }
  }

  void rows_are_added_where_they_belong_data() { add_isa_rows(); }
  void rows_are_added_where_they_belong() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(26);
    const RandomTensor out(Dtype::f32, {6, 33}, numbers);
    const RandomTensor x(Dtype::f32, {3, 33}, numbers);
    const std::int32_t rows[] = {5, 0, 2};
    const float factors[] = {0.5F, 2, -1};
    QVERIFY(error_of(*backend, out, [&](Backend& b, const TensorView& to) { b.add_rows(to, rows, x.view(), factors); }) <=
            kTolerance);
  }

  void add_is_exact_data() { add_isa_rows(); }
  void add_is_exact() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(4);
    const RandomTensor x(Dtype::f32, {3, 1001}, numbers);
    const RandomTensor delta(Dtype::f32, {3, 1001}, numbers);
    QCOMPARE(error_of(*backend, x, [&](Backend& b, const TensorView& to) { b.add(to, delta.view()); }), 0.0);
  }

  void rope_equals_the_reference_data() { add_isa_rows(); }
  void rope_equals_the_reference() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(6);
    const std::int32_t positions[] = {0, 1, 99, 50};
    for (const int head_dim : {8, 24, 64, 80, 128}) {
      for (const int rotary_dim : {head_dim, head_dim / 2}) {
        const RopeTables tables(rotary_dim / 2);
        const RandomTensor x(Dtype::f32, {4, std::int64_t{3} * head_dim}, numbers);
        for (const RopeStyle style : {RopeStyle::half, RopeStyle::interleaved}) {
          QVERIFY(error_of(*backend, x, [&](Backend& b, const TensorView& to) {
                    b.rope(to, 3, head_dim, positions, {tables.cos.view(), tables.sin.view(), style});
                  }) <= kTolerance);
        }
      }
    }
  }

  void rope_at_position_0_changes_nothing_data() { add_isa_rows(); }
  void rope_at_position_0_changes_nothing() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(7);
    const RopeTables tables(16);
    const std::int32_t positions[] = {0};
    const RandomTensor x(Dtype::f32, {1, 64}, numbers);
    const RandomTensor turned = x.copy();
    backend->rope(turned.view(), 2, 32, positions, {tables.cos.view(), tables.sin.view(), RopeStyle::half});
    QVERIFY(same_bits(turned.view(), x.view()));
  }

  void rope_turns_only_its_columns_of_strided_rows_data() { add_isa_rows(); }
  void rope_turns_only_its_columns_of_strided_rows() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(8);
    const RopeTables tables(8);
    const std::int32_t positions[] = {5, 6};
    const RandomTensor wide(Dtype::f32, {2, 50}, numbers);
    const RandomTensor before = wide.copy();
    const TensorView q = wide.view().columns(10, 32);
    backend->rope(q, 2, 16, positions, {tables.cos.view(), tables.sin.view(), RopeStyle::half});
    for (std::int64_t m = 0; m < 2; ++m) {
      for (const int i : {0, 9, 42, 49}) QCOMPARE(wide.view().row<float>(m)[i], before.view().row<float>(m)[i]);
      QVERIFY(wide.view().row<float>(m)[10] != before.view().row<float>(m)[10]);
    }
  }

  void embed_reads_rows_of_any_floating_type_data() { add_isa_rows(); }
  void embed_reads_rows_of_any_floating_type() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(9);
    const std::int32_t ids[] = {3, 0, 9, 3};
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      const RandomTensor table(dtype, {10, 33}, numbers);
      QCOMPARE(error_of(*backend, RandomTensor({4, 33}),
                        [&](Backend& b, const TensorView& out) { b.embed(out, table.view(), ids); }),
               0.0);
    }
  }

  void gather_takes_the_named_rows_data() { add_isa_rows(); }
  void gather_takes_the_named_rows() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(10);
    const RandomTensor x(Dtype::f32, {10, 21}, numbers);
    const std::int32_t rows[] = {9, 0, 9};
    const RandomTensor out({3, 21});
    backend->gather_rows(out.view(), x.view(), rows);
    QVERIFY(same_bits(out.view().rows(0, 1), x.view().rows(9, 1)));
    QVERIFY(same_bits(out.view().rows(1, 1), x.view().rows(0, 1)));
    QVERIFY(same_bits(out.view().rows(2, 1), x.view().rows(9, 1)));
  }

  void a_row_is_bitwise_the_same_among_many_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_among_many() {
    const auto backend = backend_of_row(3);
    RandomNumbers numbers(11);
    const RandomTensor x(Dtype::f32, {300, 300}, numbers, 5);
    const RandomTensor weight(Dtype::f32, {300}, numbers);
    const RandomTensor normed({300, 300});
    backend->norm(normed.view(), x.view(), {.weight = weight.view(), .eps = 1e-5F});
    for (const std::int64_t m : {0, 137, 299}) {
      const RandomTensor one({1, 300});
      backend->norm(one.view(), x.view().rows(m, 1), {.weight = weight.view(), .eps = 1e-5F});
      QVERIFY(same_bits(one.view(), normed.view().rows(m, 1)));
    }
  }
};

LATHE_TEST(RowwiseTest)

}  // namespace rowwise_test
#include "rowwise_test.moc"
