// SPDX-License-Identifier: Apache-2.0
// On a machine with a CUDA device: every operation beside the reference, memory and packing.
#include <QTest>

#include "kernels/api/roofline.h"
#include "kernels/api/selftest.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace cuda_backend_test {

using namespace lathe::kernels;
using namespace lathe::tests;

class CudaBackendTest : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<Backend> backend_;

 private Q_SLOTS:
  void initTestCase() {
    LoadedBackend loaded = load_cuda_backend(0, 0);
    if (!loaded.backend) QSKIP(("skipped: " + loaded.why_not).c_str());
    backend_ = std::move(loaded.backend);
  }
  void cleanupTestCase() { backend_.reset(); }

  void it_says_what_it_is() {
    QCOMPARE(backend_->info().name, std::string("cuda"));
    QVERIFY(backend_->info().isa.starts_with("sm_"));
    QVERIFY(backend_->free_bytes().value_or(0) > 0);
  }

  void every_operation_is_as_the_reference_has_it() {
    for (const OpCheck& check : run_selftest(*backend_, {}, [](const OpCheck&) {}))
      QVERIFY2(check.passed(), (check.op + ": " + std::to_string(check.max_error)).c_str());
  }

  void ceilings_are_measured() {
    const Ceilings ceilings = measure_ceilings(*backend_);
    QVERIFY(ceilings.read_gb_s > 0 && ceilings.fma_gflop_s > 0);
    QVERIFY(ceilings.bf16_gflop_s > ceilings.fma_gflop_s && ceilings.int8_gop_s > ceilings.bf16_gflop_s);
  }

  void more_memory_than_there_is_is_not_given() {
    const auto too_much = static_cast<std::size_t>(backend_->free_bytes().value_or(0)) + 1;
    QVERIFY(!backend_->allocate(too_much));
    QVERIFY(backend_->make_packed(WeightFormat::f32, 1, static_cast<std::int64_t>(too_much / 4)) == nullptr);
  }

  void memory_is_zeroed_and_aligned() {
    const Buffer buffer = backend_->allocate(1000);
    QVERIFY(buffer && reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    for (std::size_t i = 0; i < 1000; ++i) QVERIFY(static_cast<const std::byte*>(buffer.data())[i] == std::byte{0});
  }

  void a_matrix_that_is_packed_in_parts_is_the_same() {
    constexpr std::int64_t kN = 70, kK = 192;
    RandomNumbers numbers(3);
    const RandomTensor weights(Dtype::f32, {kN, kK}, numbers);
    const RandomTensor x(Dtype::f32, {3, kK}, numbers, 1, backend_.get());
    for (const std::string_view name : {"f32", "bf16", "int8_g32", "int4_g64", "int4_g32_asym", "fp8_channel"}) {
      const WeightFormat format = *weight_format_named(name);
      const auto whole = packed(*backend_, format, weights.view());
      const auto parts = backend_->make_packed(format, kN, kK);
      for (const auto& [begin, count] : {std::pair{60, 10}, std::pair{0, 33}, std::pair{33, 27}})
        backend_->pack_rows(*parts, begin, weights.view().rows(begin, count));
      const RandomTensor want({3, kN}, backend_.get()), got({3, kN}, backend_.get());
      backend_->linear(want.view(), x.view(), *whole, {});
      backend_->linear(got.view(), x.view(), *parts, {});
      backend_->finish();
      QVERIFY2(same_bits(got.view(), want.view()), std::string(name).c_str());
      QCOMPARE(parts->n_bytes(), backend_->packed_bytes(format, kN, kK));
    }
  }

  void work_memory_is_what_was_said() {
    // One that has taken nothing yet, and rows enough for products with many rows, which need sums of x with zero points.
    const LoadedBackend fresh = load_cuda_backend(0, 0);
    QVERIFY(fresh.backend);
    const StepShape shape{.format = WeightFormat::int4_g32_asym,
                          .n_rows = 256,
                          .hidden_size = 256,
                          .intermediate_size = 512,
                          .q_size = 256,
                          .head_dim = 64,
                          .n_experts = 16,
                          .top_k = 4,
                          .expert_size = 96};
    QCOMPARE(fresh.backend->work_bytes_held(), std::size_t{0});
    QVERIFY(fresh.backend->reserve(shape));
    QCOMPARE(fresh.backend->work_bytes_held(), fresh.backend->work_bytes(shape));
  }
};

LATHE_TEST(CudaBackendTest)

}  // namespace cuda_backend_test
#include "cuda_backend_test.moc"
