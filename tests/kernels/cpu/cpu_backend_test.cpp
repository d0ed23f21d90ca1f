// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/isa/isa.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace cpu_backend_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

/// Flags of the first processor as the system lists them, each between blanks.
std::string processor_flags() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("flags")) return line.substr(line.find(':') + 1) + " ";
  }
  return {};
}

/// An instruction set and the flags that it needs.
struct NeededFlags {
  std::string_view isa;
  std::vector<std::string_view> flags;
};

}  // namespace

class CpuBackendTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanup() { qunsetenv("LATHE_ISA"); }

  void scalar_is_always_there_and_first() { QCOMPARE(cpu_isas().front(), std::string("scalar")); }

  void the_best_isa_is_the_default() {
    const auto backend = make_cpu_backend({});
    QCOMPARE(backend->info().isa, cpu_isas().back());
  }

  void each_isa_can_be_chosen_by_name() {
    for (const std::string& isa : cpu_isas()) {
      const auto backend = make_cpu_backend({.n_threads = 1, .isa = isa});
      QVERIFY(backend != nullptr);
      QCOMPARE(backend->info().isa, isa);
      QCOMPARE(backend->info().name, std::string("cpu"));
    }
  }

  void an_unknown_isa_gives_null() { QVERIFY(make_cpu_backend({.n_threads = 1, .isa = "sse9"}) == nullptr); }

  void an_isa_that_the_machine_lacks_gives_null() {
    const std::vector<std::string> have = cpu_isas();
    for (const IsaDescriptor& isa : isas()) {
      const bool has = std::find(have.begin(), have.end(), isa.name) != have.end();
      QCOMPARE(make_cpu_backend({.n_threads = 1, .isa = isa.name}) != nullptr, has);
    }
  }

  void LATHE_ISA_forces_one() {
    qputenv("LATHE_ISA", "scalar");
    QCOMPARE(make_cpu_backend({.n_threads = 1})->info().isa, std::string("scalar"));
  }

  void LATHE_ISA_naming_a_missing_isa_gives_null() {
    qputenv("LATHE_ISA", "avx1024");
    QVERIFY(make_cpu_backend({.n_threads = 1}) == nullptr);
  }

  /// The system lists what it lets programs use, Lathe asks the processor: both must come to the same.
  void an_isa_is_there_if_the_system_lists_its_flags() {
    const std::string flags = processor_flags();
    if (flags.empty()) QSKIP("skipped: this system lists no flags");
    const std::vector<std::string> have = cpu_isas();
    const NeededFlags all[] = {{"avx2", {"avx2", "fma", "f16c"}},
                               {"avx2_vnni", {"avx_vnni", "avx2", "fma", "f16c"}},
                               {"avx512", {"avx512f", "avx512bw", "avx512vl", "avx512dq"}},
                               {"avx512_vnni", {"avx512_vnni", "avx512f", "avx512vl"}},
                               {"avx512_bf16", {"avx512_bf16", "avx512_vnni"}},
                               {"avx512_amx", {"amx_tile", "amx_int8", "amx_bf16", "avx512_bf16"}}};
    for (const NeededFlags& needed : all) {
      const bool listed = std::all_of(needed.flags.begin(), needed.flags.end(), [&](std::string_view flag) {
        return flags.find(" " + std::string(flag) + " ") != std::string::npos;
      });
      const bool is_there = std::find(have.begin(), have.end(), needed.isa) != have.end();
      QVERIFY2(is_there == listed, std::string(needed.isa).c_str());
    }
  }

  void an_isa_in_the_options_wins_over_LATHE_ISA() {
    qputenv("LATHE_ISA", "avx1024");
    QVERIFY(make_cpu_backend({.n_threads = 1, .isa = "scalar"}) != nullptr);
  }

  void what_is_reserved_is_enough_for_a_step_data() { add_isa_rows(); }
  void what_is_reserved_is_enough_for_a_step() {
    constexpr std::int64_t kRows = 600, kHidden = 96, kInner = 1100;
    const auto backend = backend_of_row();
    const StepShape shape{.format = WeightFormat::bf16,
                          .n_rows = kRows,
                          .hidden_size = kHidden,
                          .intermediate_size = kInner,
                          .q_size = kHidden,
                          .head_dim = 32,
                          .group = 3};
    QVERIFY(backend->reserve(shape));
    const std::size_t held = backend->work_bytes_held();
    QVERIFY(held > 0);
    QCOMPARE(backend->work_bytes(shape), held);
    RandomNumbers numbers(1);
    const RandomTensor x(Dtype::f32, {kRows, kHidden}, numbers), out({kRows, kHidden});
    const RandomTensor wide(Dtype::f32, {kInner, kHidden}, numbers), tall(Dtype::f32, {kHidden, kInner}, numbers);
    const auto up = packed(*backend, WeightFormat::bf16, wide.view());
    const auto down = packed(*backend, WeightFormat::bf16, tall.view());
    backend->mlp(out.view(), {.x = x.view()}, {.gate = up.get(), .up = *up, .down = *down});
    const KvShape kv{.n_layers = 1, .n_kv_heads = 1, .head_dim = 32, .block_size = 600, .n_blocks = 1, .dtype = Dtype::f32};
    const Buffer cache = backend->allocate(backend->kv_layer_bytes(kv));
    const std::vector<std::int32_t> query_start{0, kRows}, context_len{kRows}, tables{0};
    backend->attention(
        out.view(), x.view(), 3, {.data = cache.data(), .shape = kv},
        {.n_seqs = 1, .query_start = query_start, .context_len = context_len, .block_tables = tables, .max_blocks = 1},
        {.scale = 1});
    QCOMPARE(backend->work_bytes_held(), held);
  }

  void the_number_of_threads_is_as_asked() {
    QCOMPARE(make_cpu_backend({.n_threads = 3})->info().n_threads, 3);
    QVERIFY(make_cpu_backend({.n_threads = 0})->info().n_threads >= 1);
  }

  void the_device_has_a_name() { QVERIFY(!make_cpu_backend({.n_threads = 1})->info().device.empty()); }

  void buffers_are_aligned_and_zero() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    for (const std::size_t n_bytes : {std::size_t{1}, std::size_t{100}, std::size_t{3} << 20}) {
      const Buffer buffer = backend->allocate(n_bytes);
      QVERIFY(buffer);
      QVERIFY(buffer.n_bytes() >= n_bytes);
      QCOMPARE(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, std::uintptr_t{0});
      const auto* bytes = static_cast<const char*>(buffer.data());
      QVERIFY(std::all_of(bytes, bytes + n_bytes, [](char byte) { return byte == 0; }));
    }
  }

  void a_buffer_that_does_not_fit_is_empty() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    QVERIFY(!backend->allocate(std::size_t{1} << 60));
    QVERIFY(backend->make_packed(WeightFormat::f32, std::int64_t{1} << 30, std::int64_t{1} << 28) == nullptr);
  }

  void a_moved_buffer_leaves_nothing_behind() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    Buffer first = backend->allocate(64);
    void* const data = first.data();
    const Buffer second = std::move(first);
    QVERIFY(!first);
    QCOMPARE(second.data(), data);
  }

  void parallel_for_covers_the_range_once_data() { add_isa_rows(); }
  void parallel_for_covers_the_range_once() {
    const auto backend = backend_of_row(3);
    std::vector<std::atomic<int>> visits(100);
    backend->parallel_for(100, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; ++begin) ++visits[static_cast<std::size_t>(begin)];
    });
    for (const auto& count : visits) QCOMPARE(count.load(), 1);
  }

  void avx2_and_avx512_agree_bitwise_on_f32_products() {
    const auto avx2 = make_cpu_backend({.n_threads = 1, .isa = "avx2"});
    const auto avx512 = make_cpu_backend({.n_threads = 1, .isa = "avx512"});
    if (avx2 == nullptr || avx512 == nullptr) QSKIP("skipped: needs a processor with AVX-512");
    RandomNumbers numbers(1);
    const RandomTensor weights(Dtype::f32, {50, 400}, numbers);
    const RandomTensor x(Dtype::f32, {20, 400}, numbers);
    const RandomTensor a({20, 50});
    const RandomTensor b({20, 50});
    avx2->linear(a.view(), x.view(), *packed(*avx2, WeightFormat::bf16, weights.view()), {});
    avx512->linear(b.view(), x.view(), *packed(*avx512, WeightFormat::bf16, weights.view()), {});
    QVERIFY(same_bits(a.view(), b.view()));
  }
};

LATHE_TEST(CpuBackendTest)

}  // namespace cpu_backend_test
#include "cpu_backend_test.moc"
