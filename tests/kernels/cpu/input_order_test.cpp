// SPDX-License-Identifier: Apache-2.0
// Matrices whose inputs are in an order of their own: each operation reads x in that order, and nothing else changes.
#include <algorithm>
#include <numeric>

#include "kernels/api/coded_rows.h"
#include "kernels/api/rounded_tensor.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/attention_sequence.h"
#include "tests/support/test_class.h"

namespace input_order_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;
// Formats that do not round activations by whole rows.
constexpr WeightFormat kFormats[] = {
    WeightFormat::int4_g32,      WeightFormat::int4_g64,       WeightFormat::int4_g128,     WeightFormat::int4_g32_asym,
    WeightFormat::int4_g64_asym, WeightFormat::int4_g128_asym, WeightFormat::int8_g32,      WeightFormat::int8_g64,
    WeightFormat::int8_g128,     WeightFormat::int8_g32_asym,  WeightFormat::int8_g64_asym, WeightFormat::int8_g128_asym,
    WeightFormat::nf4,           WeightFormat::mxfp4,          WeightFormat::bf16,          WeightFormat::f32};
// Few and many rows, with tiles that are not full; several chunks; more than are packed at a time.
constexpr std::int64_t kRows[] = {1, 2, 5, 7, 13, 33, 250, 600};

std::vector<std::int32_t> shuffled(std::int64_t k, std::uint64_t seed) {
  RandomNumbers numbers(seed);
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(numbers.below(static_cast<std::int32_t>(i)))]);
  }
  return order;
}

/// x[m][order[i]].
RandomTensor in_order(const TensorView& x, const std::vector<std::int32_t>& order) {
  RandomTensor out({x.dim(0), x.dim(1)});
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::size_t i = 0; i < order.size(); ++i) out.view().row<float>(m)[i] = x.row<float>(m)[order[i]];
  }
  return out;
}

/// Rows of a matrix in that order.
RandomTensor with_rows_in_order(const TensorView& x, const std::vector<std::int32_t>& order) {
  RandomTensor out({x.dim(0), x.dim(1)});
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(x.row<float>(order[i]), x.dim(1), out.view().row<float>(static_cast<std::int64_t>(i)));
  }
  return out;
}

/// The sums of x[order[i]] w[i] in double, of the numbers that the weights stand for.
RandomTensor defined_product(WeightFormat format, const TensorView& x, const TensorView& weights,
                             const std::vector<std::int32_t>& order) {
  const RoundedTensor rounded(format, weights, {});
  RandomTensor out({x.dim(0), weights.dim(0)});
  std::vector<float> w(static_cast<std::size_t>(weights.dim(1)));
  for (std::int64_t n = 0; n < weights.dim(0); ++n) {
    rounded.row(n, w);
    for (std::int64_t m = 0; m < x.dim(0); ++m) {
      double sum = 0;
      for (std::size_t i = 0; i < w.size(); ++i) sum += static_cast<double>(x.row<float>(m)[order[i]]) * w[i];
      out.view().row<float>(m)[n] = static_cast<float>(sum);
    }
  }
  return out;
}

bool multiplies_bytes(WeightFormat format) { return format != WeightFormat::f32 && format != WeightFormat::bf16; }

/// The relative error that rounding x causes, as in `lathe selftest`.
double tolerance_of(WeightFormat format, std::string_view isa) {
  if (multiplies_bytes(format)) return 2e-2;
  return format == WeightFormat::bf16 && rounds_to_bf16(isa) ? 1e-2 : 2e-5;
}

QString words(WeightFormat format, std::int64_t m, std::int64_t k) {
  return QStringLiteral("format %1, %2 rows of %3").arg(static_cast<int>(format)).arg(m).arg(k);
}

/// An MLP in two forms that give the same: with orders, and with rows and inputs that lie in those orders already.
struct OrderedMlp {
  OrderedMlp(Backend& backend, WeightFormat format, std::int64_t hidden, std::int64_t inner, RandomNumbers& numbers)
      : of_x(shuffled(hidden, 3)), of_inner(shuffled(inner, 4)) {
    const RandomTensor gates(Dtype::f32, {inner, hidden}, numbers, 0.1F), ups(Dtype::f32, {inner, hidden}, numbers, 0.1F);
    const RandomTensor downs(Dtype::f32, {hidden, inner}, numbers, 0.1F);
    gate = packed(backend, format, gates.view());
    up = packed(backend, format, ups.view());
    down = packed(backend, format, downs.view());
    gate->set_input_order(of_x);
    up->set_input_order(of_x);
    down->set_input_order(of_inner);
    plain_gate = packed(backend, format, with_rows_in_order(gates.view(), of_inner).view());
    plain_up = packed(backend, format, with_rows_in_order(ups.view(), of_inner).view());
    plain_down = packed(backend, format, downs.view());
  }
  MlpWeights ordered() const { return {.gate = gate.get(), .up = *up, .down = *down}; }
  MlpWeights plain() const { return {.gate = plain_gate.get(), .up = *plain_up, .down = *plain_down}; }

  std::vector<std::int32_t> of_x, of_inner;
  std::unique_ptr<PackedMatrix> gate, up, down, plain_gate, plain_up, plain_down;
};

}  // namespace

class InputOrderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void products_are_those_of_the_definition_data() { add_isa_rows(); }
  void products_are_those_of_the_definition() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t k : {64, 320, 1408}) {
        RandomNumbers numbers(static_cast<std::uint64_t>(k));
        const RandomTensor weights(Dtype::f32, {40, k}, numbers), x(Dtype::f32, {19, k}, numbers);
        const auto order = shuffled(k, 7);
        const auto matrix = packed(*backend, format, weights.view());
        matrix->set_input_order(order);
        const RandomTensor want = defined_product(format, x.view(), weights.view(), order);
        for (const std::int64_t m : {1, 4, 19}) {
          const RandomTensor got({m, 40});
          backend->linear(got.view(), x.view().rows(0, m), *matrix, kNoBias);
          const double error = relative_error(got.view(), want.view().rows(0, m));
          QVERIFY2(error <= tolerance_of(format, backend->info().isa), qPrintable(words(format, m, k)));
        }
      }
    }
  }

  /// Odd sizes too: a last pair, block or tile that is not full.
  void products_have_the_bits_of_inputs_that_lie_so_data() { add_isa_rows(); }
  void products_have_the_bits_of_inputs_that_lie_so() {
    const auto backend = backend_of_row(3);
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t k : {33, 192, 300}) {
        RandomNumbers numbers(static_cast<std::uint64_t>(k));
        const RandomTensor weights(Dtype::f32, {50, k}, numbers), bias(Dtype::f32, {50}, numbers);
        const auto plain = packed(*backend, format, weights.view()), ordered = packed(*backend, format, weights.view());
        const auto order = shuffled(k, 5);
        ordered->set_input_order(order);
        for (const std::int64_t m : kRows) {
          const RandomTensor x(Dtype::f32, {m, k}, numbers), before = x.copy(), got({m, 50}), want({m, 50});
          backend->linear(got.view(), x.view(), *ordered, bias.view());
          backend->linear(want.view(), in_order(x.view(), order).view(), *plain, bias.view());
          QVERIFY2(same_bits(got.view(), want.view()), qPrintable(words(format, m, k)));
          QVERIFY(same_bits(x.view(), before.view()));
        }
      }
    }
  }

  void an_mlp_has_the_bits_of_rows_that_lie_so_data() { add_isa_rows(); }
  void an_mlp_has_the_bits_of_rows_that_lie_so() {
    const auto backend = backend_of_row(3);
    for (const WeightFormat format : {WeightFormat::int4_g32_asym, WeightFormat::int8_g64, WeightFormat::bf16}) {
      RandomNumbers numbers(8);
      const OrderedMlp mlp(*backend, format, 192, 320, numbers);
      for (const std::int64_t m : kRows) {
        const RandomTensor x(Dtype::f32, {m, 192}, numbers), got({m, 192}), want({m, 192});
        backend->mlp(got.view(), {.x = x.view()}, mlp.ordered());
        backend->mlp(want.view(), {.x = in_order(x.view(), mlp.of_x).view()}, mlp.plain());
        QVERIFY2(same_bits(got.view(), want.view()), qPrintable(words(format, m, 192)));
      }
    }
  }

  /// Rows that are normalised on the way are ordered afterwards, and stay as they are for whoever reads them next.
  void norms_see_the_usual_order_data() { add_isa_rows(); }
  void norms_see_the_usual_order() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(9);
    const OrderedMlp mlp(*backend, WeightFormat::int4_g64, 192, 320, numbers);
    for (const std::int64_t m : {1, 40}) {
      const RandomTensor weight(Dtype::f32, {192}, numbers), x(Dtype::f32, {m, 192}, numbers);
      const RandomTensor normed({m, 192}), want_normed({m, 192}), got({m, 192}), want({m, 192});
      const Norm norm{.kind = NormKind::rms, .weight = weight.view(), .eps = 1e-5F};
      backend->norm(want_normed.view(), x.view(), norm);
      backend->mlp(want.view(), {.x = want_normed.view()}, mlp.ordered());
      backend->mlp(got.view(), {.x = x.view(), .norm = norm, .normed = normed.view()}, mlp.ordered());
      QVERIFY(same_bits(got.view(), want.view()) && same_bits(normed.view(), want_normed.view()));
    }
  }

  void attention_hands_its_heads_over_in_order_data() { add_isa_rows(); }
  void attention_hands_its_heads_over_in_order() {
    const auto backend = backend_of_row(3);
    constexpr HeadShape kHeads{.n_heads = 6, .n_kv_heads = 2, .head_dim = 32};
    RandomNumbers numbers(7);
    const auto matrix =
        packed(*backend, WeightFormat::int4_g32_asym, RandomTensor(Dtype::f32, {100, 192}, numbers, 0.1F).view());
    const auto order = shuffled(192, 6);
    matrix->set_input_order(order);
    for (const auto& [n_tokens, begin] : {std::pair{1, 0}, {70, 0}, {300, 290}, {620, 0}}) {
      const Sequence sequence(*backend, kHeads, n_tokens, 16, Dtype::f16);
      const std::int64_t m = n_tokens - begin;
      const RandomTensor heads({m, 192}), want_heads({m, 192}), got({m, 100}), want({m, 100});
      sequence.with_batch(begin, n_tokens, [&](const TensorView& q, const AttentionBatch& batch, const AttentionForm& form) {
        backend->attend(got.view(), heads.view(), q, 6, sequence.layer(), batch, form, *matrix, kNoBias);
      });
      sequence.attend(want_heads.view(), begin, n_tokens);
      backend->linear(want.view(), want_heads.view(), *matrix, kNoBias);
      QVERIFY2(same_bits(got.view(), want.view()), qPrintable(QString::number(n_tokens)));
      QVERIFY(same_bits(heads.view(), want_heads.view()));
    }
  }

  /// A format with one activation scale per row supports no input order, and is not in kFormats.
  void formats_that_round_whole_rows_are_known() {
    for (const WeightFormat format : {WeightFormat::int8_channel, WeightFormat::llm_int8, WeightFormat::fp8_channel}) {
      QVERIFY(rounds_whole_rows(format) &&
              std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats));
    }
    for (const WeightFormat format : kFormats) QVERIFY(!rounds_whole_rows(format));
    QVERIFY(!rounds_whole_rows(WeightFormat::fp8_weight_only));
  }

  void the_oracle_obeys_orders() {
    const auto reference = make_reference_backend();
    RandomNumbers numbers(2);
    const RandomTensor weights(Dtype::f32, {40, 320}, numbers), x(Dtype::f32, {3, 320}, numbers), got({3, 40});
    const auto order = shuffled(320, 7);
    for (const WeightFormat format : kFormats) {
      const auto matrix = packed(*reference, format, weights.view());
      matrix->set_input_order(order);
      reference->linear(got.view(), x.view(), *matrix, kNoBias);
      QVERIFY(relative_error(got.view(), defined_product(format, x.view(), weights.view(), order).view()) < 1e-6);
    }
    const OrderedMlp mlp(*reference, WeightFormat::int4_g32, 64, 96, numbers);
    const RandomTensor rows(Dtype::f32, {5, 64}, numbers), of_mlp({5, 64}), want({5, 64});
    reference->mlp(of_mlp.view(), {.x = rows.view()}, mlp.ordered());
    reference->mlp(want.view(), {.x = in_order(rows.view(), mlp.of_x).view()}, mlp.plain());
    QVERIFY(relative_error(of_mlp.view(), want.view()) < 1e-6);
  }

  /// Input orders need workspace for the intermediate activations of an MLP, and reserve() allocates all of it.
  void a_step_takes_what_was_reserved_data() { add_isa_rows(); }
  void a_step_takes_what_was_reserved() {
    const auto backend = backend_of_row();
    StepShape shape{.format = WeightFormat::int4_g32,
                    .expert_format = WeightFormat::int4_g32,
                    .head_format = WeightFormat::bf16,
                    .n_rows = 600,
                    .hidden_size = 192,
                    .intermediate_size = 320,
                    .q_size = 192,
                    .head_dim = 32,
                    .group = 3};
    const std::size_t plain_bytes = backend->work_bytes(shape);
    shape.has_input_orders = true;
    QVERIFY(backend->work_bytes(shape) > plain_bytes);
    QVERIFY(backend->reserve(shape));
    const std::size_t held = backend->work_bytes_held();
    QCOMPARE(backend->work_bytes(shape), held);
    RandomNumbers numbers(1);
    const OrderedMlp mlp(*backend, WeightFormat::int4_g32, 192, 320, numbers);
    const RandomTensor x(Dtype::f32, {600, 192}, numbers), out({600, 192});
    backend->mlp(out.view(), {.x = x.view()}, mlp.ordered());
    QCOMPARE(backend->work_bytes_held(), held);
  }
};

LATHE_TEST(InputOrderTest)

}  // namespace input_order_test
#include "input_order_test.moc"
