// SPDX-License-Identifier: Apache-2.0
// Tests that results have the same bits whether prefetch instructions or the processor fetch the weights of one row.
#include "kernels/cpu/prefetchers.h"

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace prefetchers_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

struct Weights {
  WeightFormat format;
  Dtype given;  ///< what is packed
};
constexpr Weights kWeights[] = {
    {WeightFormat::f32, Dtype::f32},      {WeightFormat::f16, Dtype::f16},         {WeightFormat::bf16, Dtype::bf16},
    {WeightFormat::int8_g32, Dtype::f32}, {WeightFormat::int4_g32, Dtype::f32},    {WeightFormat::llm_int8, Dtype::f32},
    {WeightFormat::nf4, Dtype::f32},      {WeightFormat::fp8_channel, Dtype::f32}, {WeightFormat::int8_g16, Dtype::f32}};

/// Products of n_rows rows, and an MLP behind them.
RandomTensor results_of(const IsaDescriptor& isa, const Weights& weights, std::int64_t n_rows, bool streams) {
  constexpr std::int64_t kHidden = 300, kInner = 170;
  CpuBackend backend(isa, 2, streams);
  RandomNumbers numbers(7);
  const RandomTensor up(weights.given, {kInner, kHidden}, numbers);
  const RandomTensor down(weights.given, {kHidden, kInner}, numbers);
  const RandomTensor x(Dtype::f32, {n_rows, kHidden}, numbers);
  const auto packed_up = packed(backend, weights.format, up.view()),
             packed_down = packed(backend, weights.format, down.view());
  RandomTensor out({2 * n_rows, kHidden});
  const RandomTensor inner({n_rows, kInner});
  backend.linear(inner.view(), x.view(), *packed_up, {});
  backend.linear(out.view().rows(0, n_rows), inner.view(), *packed_down, {});
  backend.mlp(out.view().rows(n_rows, n_rows), {.x = x.view()}, {.gate = nullptr, .up = *packed_up, .down = *packed_down});
  return out;
}

}  // namespace

class PrefetchersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void streaming_changes_no_bit_data() { add_isa_rows(); }
  void streaming_changes_no_bit() {
    const IsaDescriptor* const isa = find_isa(QTest::currentDataTag());
    QVERIFY(isa != nullptr);
    for (const Weights& weights : kWeights) {
      for (const std::int64_t n_rows : {1, 3}) {
        const RandomTensor fetched = results_of(*isa, weights, n_rows, false);
        const RandomTensor streamed = results_of(*isa, weights, n_rows, true);
        QVERIFY(same_bits(fetched.view(), streamed.view()));
        const float* const first = streamed.view().row<float>(0);
        QVERIFY(std::any_of(first, first + streamed.view().dim(1), [](float value) { return value != 0; }));
      }
    }
  }
};

LATHE_TEST(PrefetchersTest)

}  // namespace prefetchers_test
#include "prefetchers_test.moc"
