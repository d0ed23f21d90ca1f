// SPDX-License-Identifier: Apache-2.0
// The host side of the CUDA backend on the fake device: memory, packing, arrays of steps, results for the host, failures.
#include <QTest>
#include <algorithm>
#include <numeric>

#include "kernels/api/roofline.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/test_class.h"

namespace backend_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

/// A matrix of allocate() whose rows are filled with their numbers.
RandomTensor numbered_rows(Backend& backend, std::int64_t n_rows, std::int64_t n_columns) {
  RandomTensor rows({n_rows, n_columns}, &backend);
  for (std::int64_t row = 0; row < n_rows; ++row)
    std::fill_n(rows.view().row<float>(row), n_columns, static_cast<float>(row));
  return rows;
}

}  // namespace

class BackendTest : public QObject {
  Q_OBJECT

 private:
  FakeDevice& device_ = FakeDevice::instance();
  std::unique_ptr<cuda::CudaBackend> backend_;

 private Q_SLOTS:
  void init() {
    device_.begin({.n_bytes = std::size_t{1} << 30});
    backend_ = std::make_unique<cuda::CudaBackend>(1);
  }
  void cleanup() {
    backend_.reset();
    QVERIFY2(device_.violations().empty(), device_.violations_text().c_str());
    QCOMPARE(device_.n_buffers(), std::size_t{0});
  }

  /// The fake device finds what it is for.
  void accesses_outside_of_memory_are_found() {
    const auto run = [&](auto work) {
      QVERIFY(FakeDevice::instance().launch("work", work));
      QVERIFY(FakeDevice::instance().synchronize());
    };
    backend_.reset();
    device_.begin({});
    auto* const data = static_cast<float*>(device_.allocate(64, FakeDevice::Memory::device));
    QVERIFY(std::isnan(data[0]));
    run([&] { FakeDevice::elements(data, 16); });
    QVERIFY(device_.violations().empty());
    run([&] { FakeDevice::elements(data + 1, 16); });
    run([&] { FakeDevice::elements(data + 16, 1); });
    run([&] { FakeDevice::elements(reinterpret_cast<float*>(reinterpret_cast<char*>(data) + 2), 1); });
    float of_host = 0;
    run([&] { FakeDevice::elements(&of_host, 1); });
    QVERIFY(device_.free(data, false));
    run([&] { FakeDevice::elements(data, 1); });
    QVERIFY(!device_.free(data, false));
    QCOMPARE(device_.violations().size(), std::size_t{6});
    device_.begin({});
  }

  void memory_is_zeroed_and_counted() {
    const std::int64_t n_before = backend_->free_bytes().value_or(0);
    for (const bool is_on_device : {false, true}) {
      const Buffer buffer = is_on_device ? backend_->allocate_on_device(1000) : backend_->allocate(1000);
      const auto* const bytes = static_cast<const std::byte*>(buffer.data());
      QVERIFY(std::all_of(bytes, bytes + 1000, [](std::byte one) { return one == std::byte{0}; }));
      QCOMPARE(backend_->free_bytes().value_or(0), n_before - 1000);
    }
    QVERIFY(!backend_->allocate(static_cast<std::size_t>(n_before) + 1));
    QVERIFY(backend_->make_packed(WeightFormat::f32, 1, n_before) == nullptr);
    QVERIFY(!backend_->take_error());
  }

  void work_memory_is_what_was_said_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<int>("n_rows");
    for (const FormatDescriptor& format : weight_formats()) {
      for (const int n_rows : {1, 200})
        QTest::newRow((std::string(format.name) + " " + std::to_string(n_rows)).c_str())
            << static_cast<int>(format.format) << n_rows;
    }
  }
  /// Products and MLPs of the shape take no more than was reserved.
  void work_memory_is_what_was_said() {
    QFETCH(int, format);
    QFETCH(int, n_rows);
    const StepShape shape{.format = static_cast<WeightFormat>(format),
                          .n_rows = n_rows,
                          .hidden_size = 256,
                          .intermediate_size = 384,
                          .q_size = 128,
                          .head_dim = 64};
    QVERIFY(backend_->reserve(shape));
    const std::size_t n_bytes = backend_->work_bytes(shape);
    QCOMPARE(backend_->work_bytes_held(), n_bytes);
    RandomNumbers numbers(3);
    const auto matrix = [&](std::int64_t n, std::int64_t k) {
      return packed(*backend_, shape.format, RandomTensor(Dtype::f32, {n, k}, numbers).view());
    };
    const auto gate = matrix(384, 256), up = matrix(384, 256), down = matrix(256, 384), output = matrix(256, 128);
    const RandomTensor x(Dtype::f32, {n_rows, 256}, numbers, 1, backend_.get()),
        heads(Dtype::f32, {n_rows, 128}, numbers, 1, backend_.get()), out({n_rows, 256}, backend_.get());
    const std::int64_t n_allocated = device_.n_allocated();
    backend_->mlp(out.view(), {.x = x.view()}, {.gate = gate.get(), .up = *up, .down = *down});
    backend_->mlp(out.view(), {.x = x.view()}, {.up = *up, .down = *down});
    backend_->linear(out.view(), heads.view(), *output, {});
    backend_->finish();
    QCOMPARE(device_.n_allocated(), n_allocated);
    QCOMPARE(backend_->work_bytes_held(), n_bytes);
    QVERIFY(!backend_->take_error());
  }

  void a_matrix_that_is_packed_in_parts_is_the_same() {
    constexpr std::int64_t kN = 70, kK = 192;
    RandomNumbers numbers(3);
    const RandomTensor weights(Dtype::f32, {kN, kK}, numbers), x(Dtype::f32, {3, kK}, numbers, 1, backend_.get());
    for (const FormatDescriptor& format : weight_formats()) {
      if (format.codes.scales == ScaleLayout::nested) continue;  // its scales span what is packed together
      const auto whole = packed(*backend_, format.format, weights.view());
      const auto parts = backend_->make_packed(format.format, kN, kK);
      for (const auto& [begin, count] : {std::pair{60, 10}, std::pair{0, 33}, std::pair{33, 27}})
        backend_->pack_rows(*parts, begin, weights.view().rows(begin, count));
      const RandomTensor want({3, kN}, backend_.get()), got({3, kN}, backend_.get());
      backend_->linear(want.view(), x.view(), *whole, {});
      backend_->linear(got.view(), x.view(), *parts, {});
      backend_->finish();
      QVERIFY2(same_bits(got.view(), want.view()), std::string(format.name).c_str());
      QCOMPARE(parts->n_bytes(), backend_->packed_bytes(format.format, kN, kK));
    }
  }

  /// Arrays of many operations fill several pieces of memory; each operation reads its own.
  void many_arrays_of_a_step_stay_until_its_end_data() {
    QTest::addColumn<bool>("is_in_step");
    QTest::newRow("in a step") << true;
    QTest::newRow("outside") << false;
  }
  void many_arrays_of_a_step_stay_until_its_end() {
    QFETCH(bool, is_in_step);
    constexpr int kArrays = 60, kRows = 20'000;  // 4.8 MB
    const RandomTensor from = numbered_rows(*backend_, kRows, 1);
    std::vector<std::vector<std::int32_t>> arrays;
    std::vector<RandomTensor> outs;
    for (int i = 0; i < kArrays; ++i) {
      std::vector<std::int32_t>& rows = arrays.emplace_back(kRows);
      std::iota(rows.begin(), rows.end(), 0);
      std::rotate(rows.begin(), rows.begin() + i, rows.end());
      outs.push_back(numbered_rows(*backend_, kRows, 1));
    }
    std::int64_t n_allocated = 0;
    for (int step = 0; step < 4; ++step) {
      if (step == 3) n_allocated = device_.n_allocated();
      const std::span<const std::int32_t> known[] = {arrays[0], arrays[3]};
      if (is_in_step) backend_->begin_step(known);
      for (std::size_t i = 0; i < arrays.size(); ++i) backend_->gather_rows(outs[i].view(), from.view(), arrays[i]);
      backend_->finish();
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        for (const std::size_t at : {std::size_t{0}, arrays[i].size() - 1})
          QCOMPARE(outs[i].view().row<float>(static_cast<std::int64_t>(at))[0], static_cast<float>(arrays[i][at]));
      }
      for (auto& rows : arrays) std::rotate(rows.begin(), rows.begin() + 5, rows.end());
    }
    QCOMPARE(device_.n_allocated(), n_allocated);  // the memory of the last steps is enough
    QVERIFY(!backend_->take_error());
  }

  /// Operations before a step, which were not waited for, keep their arrays.
  void a_step_may_begin_while_operations_are_under_way() {
    const RandomTensor from = numbered_rows(*backend_, 8, 4);
    const RandomTensor before({3, 4}, backend_.get()), within({3, 4}, backend_.get()), after({3, 4}, backend_.get());
    std::vector<std::int32_t> rows{1, 2, 5}, others{7, 6, 4};
    backend_->gather_rows(before.view(), from.view(), rows);
    const std::span<const std::int32_t> known[] = {others};
    backend_->begin_step(known);
    backend_->gather_rows(within.view(), from.view(), others);
    backend_->finish();
    others[0] = 0;
    backend_->gather_rows(after.view(), from.view(), others);
    backend_->finish();
    QCOMPARE(before.view().row<float>(2)[0], 5.0F);
    QCOMPARE(within.view().row<float>(0)[0], 7.0F);
    QCOMPARE(after.view().row<float>(0)[0], 0.0F);
  }

  /// Work memory that is not reserved grows between two operations.
  void work_memory_grows_while_operations_are_under_way() {
    RandomNumbers numbers(3);
    const auto matrix = packed(*backend_, WeightFormat::int4_g32_asym, RandomTensor(Dtype::f32, {40, 64}, numbers).view());
    const RandomTensor x(Dtype::f32, {200, 64}, numbers, 1, backend_.get()), all({200, 40}, backend_.get());
    backend_->linear(all.view(), x.view(), *matrix, {});
    backend_->finish();
    const auto other = std::make_unique<cuda::CudaBackend>(1);
    std::vector<RandomTensor> parts;
    const std::int64_t counts[] = {1, 3, 40, 200};
    for (const std::int64_t n : counts) {
      parts.emplace_back(std::initializer_list<std::int64_t>{n, 40}, other.get());
      other->linear(parts.back().view(), x.view().rows(0, n), *matrix, {});
    }
    other->finish();
    for (std::size_t i = 0; i < parts.size(); ++i) QVERIFY(same_bits(parts[i].view(), all.view().rows(0, counts[i])));
  }

  /// So many parts of contexts that their memory is used several times.
  void attention_of_many_parts_is_done_in_several_runs() {
    constexpr int kSeqs = 33, kRows = 48, kContext = 257, kHeads = 256, kDim = 64, kBlock = 16,
                  kBlocks = kContext / kBlock + 1;
    RandomNumbers numbers(3);
    const auto reference = make_reference_backend();
    const KvShape shape{.n_layers = 1,
                        .n_kv_heads = kHeads,
                        .head_dim = kDim,
                        .block_size = kBlock,
                        .n_blocks = kBlocks,
                        .dtype = Dtype::bf16};
    const RandomTensor k(Dtype::f32, {kContext, kHeads * kDim}, numbers, 1, backend_.get()),
        v(Dtype::f32, {kContext, kHeads * kDim}, numbers, 1, backend_.get()),
        q(Dtype::f32, {kRows, kHeads * kDim}, numbers, 1, backend_.get());
    std::vector<std::int32_t> slots(kContext), starts, contexts(kSeqs, kContext), tables;
    std::iota(slots.begin(), slots.end(), 0);
    // The last sequence has 16 rows, which take as much space as those of each other one are given.
    for (int i = 0; i < kSeqs; ++i) starts.push_back(i);
    starts.push_back(kRows);
    for (std::size_t seq = 0; seq < contexts.size(); ++seq)
      for (int block = 0; block < kBlocks; ++block) tables.push_back(block);
    const AttentionBatch batch{
        .n_seqs = kSeqs, .query_start = starts, .context_len = contexts, .block_tables = tables, .max_blocks = kBlocks};
    const RandomTensor want({kRows, kHeads * kDim}, backend_.get()), got({kRows, kHeads * kDim}, backend_.get());
    for (Backend* of : {static_cast<Backend*>(backend_.get()), reference.get()}) {
      const Buffer memory = of->allocate(of->kv_layer_bytes(shape));
      const KvLayer layer{.data = memory.data(), .shape = shape};
      of->kv_write(layer, k.view(), v.view(), slots);
      of->attention((of == reference.get() ? want : got).view(), q.view(), kHeads, layer, batch, {.scale = 0.125F});
      of->finish();
    }
    QVERIFY(device_.launches().at("attend_few") > 1);
    QVERIFY(relative_error(got.view(), want.view()) < 1e-4);
  }

  /// An array that changes between two operations, with the same address.
  void an_array_may_change_outside_of_a_step() {
    const RandomTensor from = numbered_rows(*backend_, 8, 4);
    const RandomTensor first({2, 4}, backend_.get()), second({2, 4}, backend_.get()), third({2, 4}, backend_.get());
    std::vector<std::int32_t> rows{1, 2};
    backend_->gather_rows(first.view(), from.view(), rows);
    rows = {7, 3};
    backend_->gather_rows(second.view(), from.view(), rows);
    rows = {1, 2};
    backend_->gather_rows(third.view(), from.view(), rows);
    rows = {0, 0};
    backend_->finish();
    QCOMPARE(first.view().row<float>(1)[0], 2.0F);
    QCOMPARE(second.view().row<float>(0)[3], 7.0F);
    QCOMPARE(third.view().row<float>(0)[0], 1.0F);
  }

  /// Results are there after finish() and not before, and larger ones do not spoil those that are under way.
  void results_come_to_the_host() {
    const RandomTensor small = numbered_rows(*backend_, 3, 4), large = numbered_rows(*backend_, 300, 50);
    const TensorView got = backend_->download(small.view(), {});
    const auto best = backend_->arg_max(small.view());
    backend_->finish();
    QCOMPARE(got.row<float>(2)[3], 2.0F);
    QCOMPARE((std::vector<std::int32_t>(best.begin(), best.end())), (std::vector<std::int32_t>{0, 0, 0}));
    const std::int32_t some[] = {4, 7};
    backend_->fill(small.view(), 9);
    const TensorView of_large = backend_->download(large.view(), some);
    backend_->scale(large.view(), 2);
    backend_->finish();
    QCOMPARE(of_large.row<float>(4)[0], 4.0F);
    QCOMPARE(of_large.row<float>(7)[49], 7.0F);
    QCOMPARE(large.view().row<float>(7)[0], 14.0F);
    const RandomTensor larger = numbered_rows(*backend_, 500, 100);
    for (const RandomTensor* rows : {&small, &larger}) {
      static_cast<void>(backend_->download(rows->view(), {}));
      static_cast<void>(backend_->arg_max(rows->view()));
    }
    backend_->finish();
  }

  void missing_memory_of_an_operation_is_an_error() {
    RandomNumbers numbers(3);
    const RandomTensor weights(Dtype::f32, {40, 64}, numbers), x(Dtype::f32, {80, 64}, numbers, 1, backend_.get());
    const auto matrix = packed(*backend_, WeightFormat::int4_g32_asym, weights.view());
    const RandomTensor want({80, 40}, backend_.get()), got({80, 40}, backend_.get());
    device_.fail_allocation(1);
    backend_->linear(got.view(), x.view(), *matrix, {});
    backend_->add(got.view(), got.view());
    backend_->finish();
    const auto error = backend_->take_error();
    QVERIFY(error && error->kind == OperationFailure::out_of_memory);
    QVERIFY2(error->message.find("operation linear asked for") != std::string::npos, error->message.c_str());
    QVERIFY(!backend_->take_error());
    backend_->linear(want.view(), x.view(), *matrix, {});
    backend_->linear(got.view(), x.view(), *matrix, {});
    backend_->finish();
    QVERIFY(same_bits(got.view(), want.view()) && want.view().row<float>(79)[39] != 0);
  }

  void a_lost_device_is_said_again_and_again() {
    const RandomTensor x = numbered_rows(*backend_, 3, 4);
    device_.lose_at(2);
    for (int i = 0; i < 3; ++i) {
      backend_->fill(x.view(), 1);
      backend_->finish();
      const auto error = backend_->take_error();
      QCOMPARE(error.has_value(), i > 0);
      if (error) QVERIFY(error->kind == OperationFailure::device_lost);
    }
    QVERIFY(!backend_->allocate(10));
  }

  /// Without memory for the largest array that measurement is left out.
  void ceilings_are_measured() {
    const Ceilings ceilings = measure_ceilings(*backend_);
    QVERIFY(ceilings.read_gb_s == 0 && ceilings.fma_gflop_s > 0);
    QVERIFY(ceilings.bf16_gflop_s > ceilings.fma_gflop_s && ceilings.int8_gop_s > ceilings.bf16_gflop_s);
  }
};

LATHE_TEST(BackendTest)

}  // namespace backend_test
#include "backend_test.moc"
