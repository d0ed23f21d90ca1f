// SPDX-License-Identifier: Apache-2.0
// The KV cache of a device, on the fake one: it takes what weights and measured steps leave of gpu_memory_utilization, other
// sizes win over it, and what does not fit is refused with the numbers.
#include "engine/serve/device_cache.h"

#include <QTest>

#include "engine/api/json.h"
#include "engine/base/text_file.h"
#include "engine/serve/fit_fixes.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/random_model.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace device_cache_test {

using namespace lathe;
using namespace lathe::tests;
using namespace lathe::engine;
using kernels::Dtype;

namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;
constexpr std::int64_t kDeviceBytes = 640 * kMib, kReserve = 256 * kMib;
constexpr std::int64_t kPieces = 2 * 2 * kMib;  // of two layers

// 1 KiB a token in bf16.
constexpr std::string_view kConfig = R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 300,
  "hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 320,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 1280, "rope_theta": 10000.0, "tie_word_embeddings": false})";

EngineOptions options_of(double utilization) {
  EngineOptions options;
  options.model = "random";
  options.device = "cuda";
  options.gpu_memory_utilization = utilization;
  options.max_num_batched_tokens = 300;
  options.max_num_seqs = 24;
  return options;
}

/// A model that is loaded up to its cache.
struct Loaded {
  std::int64_t free_before = 0;
  ModelConfig config;
  MemoryPlan plan;
  std::unique_ptr<ModelRunner> runner;

  Result<void> fits(const EngineOptions& options) const {
    return check_fit(runner->backend(), config, Dtype::bf16, options, plan);
  }
  Result<DeviceDivision> size_cache(const EngineOptions& options) {
    return size_device_cache(*runner, Dtype::bf16, options, free_before, plan);
  }
};

Result<Loaded> load(const EngineOptions& options, std::string_view config = kConfig) {
  Loaded loaded;
  std::optional<Error> problem;
  RandomModelForm form{.config = config};
  form.limits = [&](const kernels::Backend& backend, const ModelConfig& read) {
    auto plan = plan_memory(backend, read, Dtype::bf16, options, loaded.free_before);
    if (!plan) problem = plan.error();
    if (plan) loaded.plan = std::move(*plan);
    loaded.config = read;
    return loaded.plan.fills_device ? measuring_limits(loaded.plan, options) : loaded.plan.limits;
  };
  auto backend = std::make_unique<kernels::cuda::CudaBackend>(1);
  loaded.free_before = *backend->free_bytes();
  LATHE_TRY(loaded.runner, random_model(std::move(backend), form));
  if (problem) return tl::unexpected(*problem);
  return loaded;
}

}  // namespace

class DeviceCacheTest : public QObject {
  Q_OBJECT

 private:
  FakeDevice& device_ = FakeDevice::instance();

 private Q_SLOTS:
  void init() { device_.begin({.n_bytes = static_cast<std::size_t>(kDeviceBytes)}); }
  void cleanup() {
    QVERIFY2(device_.violations().empty(), device_.violations_text().c_str());
    QCOMPARE(device_.n_buffers(), std::size_t{0});
  }

  void the_cache_takes_the_rest_of_the_budget() {
    const EngineOptions options = options_of(0.25);
    const std::int64_t budget = kDeviceBytes / 4;
    Result<Loaded> loaded = load(options);
    QVERIFY2(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
    QVERIFY(loaded->plan.fills_device);
    QCOMPARE(loaded->plan.budget, budget);
    QCOMPARE(loaded->free_before, kDeviceBytes - kReserve);
    const std::int64_t planned = loaded->plan.estimate.n_blocks;
    const Result<DeviceDivision> division = loaded->size_cache(options);
    QVERIFY2(division.has_value(), division ? "" : division.error().message.c_str());
    const std::int64_t taken = loaded->free_before - *loaded->runner->backend().free_bytes();
    QVERIFY2(taken <= budget && taken > budget - kPieces - loaded->plan.block_bytes, std::to_string(taken).c_str());
    QCOMPARE(division->kv, loaded->runner->memory().kv);
    QCOMPARE(division->total, kDeviceBytes);
    QCOMPARE(division->others, kReserve);
    QVERIFY(division->steps > 0);
    QCOMPARE(division->model + division->steps + division->kv, taken);
    QCOMPARE(std::int64_t{loaded->plan.limits.n_blocks}, division->kv / loaded->plan.block_bytes);
    QCOMPARE(loaded->plan.estimate.kv, division->kv);
    QCOMPARE(loaded->plan.estimate.n_blocks, std::int64_t{loaded->plan.limits.n_blocks});
    QVERIFY(planned > loaded->plan.limits.n_blocks);  // the estimate knows nothing of steps
    VERIFY_HAS(text_of(*division), "0.25 of 0.6 GiB of the device are 0.2: weights and work memory 0.0");
  }

  /// The runner computes with the cache as one that had it from the beginning does, and its steps need no memory beyond what
  /// was measured.
  void steps_afterwards_are_those_that_were_measured() {
    const EngineOptions options = options_of(0.1);
    Result<Loaded> loaded = load(options);
    QVERIFY(loaded.has_value() && loaded->size_cache(options).has_value());
    const std::int64_t free = *loaded->runner->backend().free_bytes();
    std::vector<std::int32_t> ids(300);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 90);
    const kernels::Backend& backend = loaded->runner->backend();
    RunnerDriver sized(std::move(loaded->runner));
    const auto logits = sized.step({{.sequence = 0, .tokens = ids, .n_new = 300}});
    QCOMPARE(*backend.free_bytes(), free);
    auto other = random_model(std::make_unique<kernels::cuda::CudaBackend>(1), {.config = kConfig, .max_rows = 300});
    QVERIFY(other.has_value());
    RunnerDriver usual(std::move(*other));
    QCOMPARE(logits, usual.step({{.sequence = 0, .tokens = ids, .n_new = 300}}));
  }

  void layers_with_a_window_have_their_own_blocks() {
    const auto config = read_text_file(source_path("tests/fixtures/families/gemma3/config.json"), kMib);
    QVERIFY(config.has_value());
    EngineOptions options = options_of(0.1);
    options.max_num_batched_tokens = 32;
    Result<Loaded> loaded = load(options, *config);
    QVERIFY2(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
    const Result<DeviceDivision> division = loaded->size_cache(options);
    QVERIFY2(division.has_value(), division ? "" : division.error().message.c_str());
    QVERIFY(!loaded->plan.limits.windows.empty());
    QCOMPARE(loaded->runner->limits().windows.size(), loaded->plan.limits.windows.size());
    QVERIFY(loaded->free_before - *loaded->runner->backend().free_bytes() <= loaded->plan.budget);
  }

  void a_size_that_was_asked_for_wins() {
    EngineOptions options = options_of(0.25);
    options.kv_cache_memory_bytes = 4 * kMib;
    const Result<Loaded> of_bytes = load(options);
    QVERIFY(of_bytes.has_value() && !of_bytes->plan.fills_device);
    QCOMPARE(of_bytes->plan.limits.n_blocks, 256);
    options.num_gpu_blocks_override = 100;
    const Result<Loaded> of_blocks = load(options);
    QVERIFY(of_blocks.has_value() && !of_blocks->plan.fills_device);
    QCOMPARE(of_blocks->plan.limits.n_blocks, 100);
    QVERIFY(of_blocks->fits(options).has_value());
  }

  void a_budget_that_holds_no_context_is_refused() {
    const EngineOptions options = options_of(0.01);
    Result<Loaded> loaded = load(options);
    QVERIFY(loaded.has_value());
    const Result<void> fits = loaded->fits(options);
    QVERIFY(!fits);
    VERIFY_HAS(fits.error().message, "but gpu_memory_utilization allows 0.01 GiB");
    const Result<DeviceDivision> division = loaded->size_cache(options);
    QVERIFY(!division);
    QCOMPARE(division.error().code, ErrorCode::resource_exhausted);
    QCOMPARE(division.error().where, std::string("gpu_memory_utilization"));
    VERIFY_HAS(division.error().message,
               "but one context of max_model_len 1280 needs 0.00 GiB: 0.01 of 0.6 GiB of the device");
  }

  /// Memory of the host is counted apart.
  void the_estimate_is_of_the_device_and_of_the_host() {
    const EngineOptions options = options_of(0.25);
    Result<Loaded> loaded = load(options);
    QVERIFY(loaded.has_value());
    FitEstimate estimate = loaded->plan.estimate;
    QCOMPARE(estimate.free, loaded->plan.budget);
    // Two tensors of 320 x 128 and all logits of a step in f32, and 64 bytes a block.
    QCOMPARE(estimate.host, 2 * 320 * 128 * 4 + 300 * 300 * 4 + 64 * estimate.n_blocks);
    QVERIFY(estimate.host_free > 0 && !estimate.lacks_host());
    loaded->plan.estimate.host_free = 1;
    const Result<void> fits = loaded->fits(options);
    QVERIFY(!fits);
    VERIFY_HAS(fits.error().message, "needs 0.00 GiB of the host's memory, but only 0.00 GiB is free there");
  }

  void memory_that_other_programs_have_is_no_budget() {
    void* const others = device_.allocate(200 * kMib, FakeDevice::Memory::device);
    const EngineOptions options = options_of(0.5);
    Result<Loaded> loaded = load(options);
    QVERIFY(loaded.has_value());
    const Result<void> fits = loaded->fits(options);
    QVERIFY(!fits);
    QCOMPARE(fits.error().where, std::string("gpu_memory_utilization"));
    VERIFY_HAS(fits.error().message,
               "asks for 0.31 GiB of the device, but only 0.18 GiB is free. End other programs that use the device, lower "
               "gpu_memory_utilization to 0.28, or set kv_cache_memory_bytes");
    // A load all the same gets what is free.
    const Result<DeviceDivision> division = loaded->size_cache(options);
    QVERIFY2(division.has_value(), division ? "" : division.error().message.c_str());
    QCOMPARE(division->others, kReserve + static_cast<std::int64_t>(200 * kMib));
    loaded->runner.reset();
    QVERIFY(device_.free(others, false));
  }

  void steps_that_find_no_memory_end_the_load() {
    const EngineOptions options = options_of(0.25);
    Result<Loaded> loaded = load(options);
    QVERIFY(loaded.has_value());
    device_.fail_allocation(2);  // arrays of a step: in memory of the host, then on the device
    const Result<DeviceDivision> division = loaded->size_cache(options);
    QVERIFY(!division);
    QCOMPARE(division.error().code, ErrorCode::resource_exhausted);
  }
};

LATHE_TEST(DeviceCacheTest)

}  // namespace device_cache_test
#include "device_cache_test.moc"
