// SPDX-License-Identifier: Apache-2.0
// Tests of the choice of formats, context and KV pool.
#include "engine/serve/memory_plan.h"

#include <QTest>
#include <limits>

#include "engine/model/architectures.h"
#include "engine/serve/fit_fixes.h"
#include "engine/serve/opened_model.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace memory_plan_test {

using namespace lathe;
using namespace lathe::engine;
using kernels::Dtype;

namespace {

constexpr std::int64_t kGibibyte = 1LL << 30;

/// tiny-llama with 256 positions; 2 layers x 2 KV heads x 16 x K and V x 4 bytes = 512 bytes a token in f32.
class Case {
 public:
  EngineOptions options;
  std::optional<std::int64_t> free = kGibibyte;
  Dtype stored = Dtype::f32;
  ModelConfig config = open_model(tests::tiny_model_path())->config;

  Result<MemoryPlan> plan() const {
    const auto backend = kernels::make_reference_backend();
    return plan_memory(*backend, config, stored, options, free);
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

class MemoryPlanTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void context_comes_from_the_checkpoint();
  void context_may_be_shorter();
  void context_beyond_the_checkpoint_is_refused();
  void dynamic_rope_may_be_asked_for_more();
  void a_window_of_all_layers_takes_no_more_than_it();
  void layers_with_a_window_have_what_max_num_seqs_hold_of_it();
  void a_window_group_that_saves_nothing_is_none();
  void layers_that_share_keys_and_values_take_none();
  void bytes_are_shared_among_groups_data();
  void bytes_are_shared_among_groups();
  void pool_holds_all_sequences_when_there_is_room();
  void pool_takes_at_most_half_of_what_is_free();
  void pool_never_holds_less_than_one_context();
  void override_is_obeyed();
  void kv_bytes_are_obeyed();
  void a_small_pool_shortens_the_context_with_a_warning();
  void a_small_pool_against_an_asked_context_is_refused();
  void a_pool_with_few_reservations_is_warned_of();
  void kv_bytes_below_one_block_are_refused();
  void dtype_auto_is_as_stored();
  void dtype_may_be_chosen();
  void quantized_matrices_take_less();
  void kv_dtype_auto_is_as_compute();
  void kv_dtype_may_be_chosen();
  void kv_in_int8_counts_its_scales();
  void chunks_are_whole_blocks();
  void rows_follow_the_options();
  void logit_rows_are_at_least_one_a_sequence();
  void verdict_by_what_is_free();
  void unknown_free_memory_gives_no_verdict();
  void slots_stay_in_32_bits();
  void L20_the_largest_legal_config_does_not_fit();
};

void MemoryPlanTest::context_comes_from_the_checkpoint() {
  const auto plan = Case().plan();
  QVERIFY(plan.has_value());
  QCOMPARE(plan->limits.max_model_len, 256);
  QCOMPARE(plan->limits.vocab_size, 384);
  QCOMPARE(plan->estimate.max_model_len, 256);
}

void MemoryPlanTest::context_may_be_shorter() {
  Case test;
  test.options.max_model_len = 100;
  QCOMPARE(test.plan()->limits.max_model_len, 100);
  QCOMPARE(test.plan()->limits.n_blocks, 7 * 16);  // 7 blocks of 16 hold 100 tokens, 16 sequences
}

void MemoryPlanTest::context_beyond_the_checkpoint_is_refused() {
  Case test;
  test.options.max_model_len = 257;
  const auto plan = test.plan();
  QVERIFY(!plan.has_value());
  QVERIFY(plan.error().code == ErrorCode::invalid_argument);
  QCOMPARE(plan.error().message, std::string("max_model_len is 257, but the checkpoint supports at most 256 positions"));
}

void MemoryPlanTest::chunks_are_whole_blocks() {
  Case test;
  test.config.has_chunks = true;
  test.config.layers.front().window = 40;
  test.options.block_size = 16;
  const auto plan = test.plan();
  QVERIFY(!plan.has_value());
  QVERIFY(plan.error().code == ErrorCode::invalid_argument);
  QVERIFY(plan.error().message.find("block_size is 16, but the checkpoint sees its context in chunks of 40") == 0);
  test.options.max_model_len = 40;  // one chunk
  QVERIFY(test.plan().has_value());
  test.options.max_model_len = 0;
  test.options.block_size = 8;
  QVERIFY(test.plan().has_value());
}

/// As far as its factor goes; without being asked the context is that of the checkpoint.
void MemoryPlanTest::dynamic_rope_may_be_asked_for_more() {
  Case test;
  RopeConfig& rope = test.config.ropes.front();
  rope.scaling = RopeScaling::dynamic;
  rope.factor = 2;
  rope.original_max_position_embeddings = 256;
  QCOMPARE(test.plan()->limits.max_model_len, 256);
  const std::int64_t other = test.plan()->estimate.other;
  test.options.max_model_len = 512;
  QCOMPARE(test.plan()->limits.max_model_len, 512);
  // Two parts: contexts of 256 and of 512, cosines and sines.
  QCOMPARE(test.plan()->estimate.other - other, 512 * (rope.rotary_dim / 2) * 2 * 4);
  test.options.max_model_len = 513;
  QVERIFY(!test.plan().has_value());
  rope.original_max_position_embeddings = 128;  // 256 positions are stretched already
  test.options.max_model_len = 257;
  QVERIFY(!test.plan().has_value());
}

/// gemma4-per-layer: two layers with a window of 12 and one that sees all have K and V, two more use those.
void MemoryPlanTest::layers_that_share_keys_and_values_take_none() {
  Case test;
  test.config = open_model(tests::family_path("gemma4-per-layer"))->config;
  test.options.max_num_seqs = 1;
  test.options.max_num_batched_tokens = 16;
  const auto plan = test.plan();
  QVERIFY(plan.has_value());
  // Two KV heads of 16 twice, and of 24; K and V in f32.
  constexpr std::int64_t kWindowBytes = 2 * 2 * 16 * 2 * 4, kWholeBytes = 2 * 24 * 2 * 4;
  QCOMPARE(plan->block_bytes, 16 * (kWindowBytes + kWholeBytes));
  QCOMPARE(plan->estimate.windows.size(), std::size_t{1});
  const FitWindow& window = plan->estimate.windows.front();
  QCOMPARE(window.n_layers, 2);
  QCOMPARE(plan->estimate.kv, 16 * (window.n_blocks * kWindowBytes + plan->limits.n_blocks * kWholeBytes));
  test.options.kv_cache_memory_bytes = plan->estimate.kv;
  QCOMPARE(test.plan()->limits.n_blocks, plan->limits.n_blocks);
}

/// Window and step, rounded to blocks, in place of the context; unless a policy reserves the context, or a layer sees all.
void MemoryPlanTest::a_window_of_all_layers_takes_no_more_than_it() {
  Case test;
  test.options.max_num_batched_tokens = 64;
  test.options.max_num_seqs = 4;
  QCOMPARE(test.plan()->limits.n_blocks, 4 * 16);
  for (LayerConfig& layer : test.config.layers) layer.window = 50;
  QCOMPARE(test.plan()->limits.n_blocks, 4 * (8 + 1));
  QCOMPARE(test.plan()->estimate.kv, 4 * (8 + 1) * test.plan()->block_bytes);
  test.options.num_gpu_blocks_override = 9;
  QCOMPARE(test.plan()->limits.max_model_len, 256);
  test.options.num_gpu_blocks_override = 8;
  QCOMPARE(test.plan()->limits.max_model_len, 128);
  test.options.num_gpu_blocks_override = 0;
  test.options.policy = "continuous";
  QCOMPARE(test.plan()->limits.n_blocks, 4 * 16);
  test.options.policy = "paged";
  test.config.layers.back().window = 0;
  QCOMPARE(test.plan()->limits.n_blocks, 4 * 16);
}

namespace {

constexpr std::int64_t kLayerBlock = 256 * 16;  // bytes of a block in one layer

/// One of two layers sees 50 tokens: 9 blocks beside steps of 64 rows.
Case mixed_case() {
  Case test;
  test.options.max_num_batched_tokens = 64;
  test.options.max_num_seqs = 4;
  test.config.layers.front().window = 50;
  return test;
}

}  // namespace

void MemoryPlanTest::layers_with_a_window_have_what_max_num_seqs_hold_of_it() {
  Case test = mixed_case();
  const MemoryPlan plan = *test.plan();
  QCOMPARE(plan.limits.n_blocks, 4 * 16);
  QCOMPARE(plan.limits.windows, (std::vector<WindowPool>{{.window = 50, .n_blocks = 4 * 9}}));
  QCOMPARE(plan.estimate.kv, (4 * 16 + 4 * 9) * kLayerBlock);
  QCOMPARE(plan.estimate.windows.size(), std::size_t{1});
  QCOMPARE(plan.estimate.windows.front().n_layers, 1);
  QCOMPARE(plan.estimate.windows.front().n_blocks, 4 * 9);
  test.options.num_gpu_blocks_override = 1000;
  QCOMPARE(test.plan()->estimate.kv, (1000 + 4 * 9) * kLayerBlock);
  // Beside a longer window of all others.
  test.options.num_gpu_blocks_override = 0;
  test.config.layers = {{.window = 20}, {.window = 50}};
  QCOMPARE(test.plan()->limits.n_blocks, 4 * 9);
  QCOMPARE(test.plan()->limits.windows, (std::vector<WindowPool>{{.window = 20, .n_blocks = 4 * 7}}));
}

void MemoryPlanTest::a_window_group_that_saves_nothing_is_none() {
  Case test = mixed_case();
  test.options.num_gpu_blocks_override = 36;
  QVERIFY(test.plan()->limits.windows.empty());
  QCOMPARE(test.plan()->estimate.kv, 36 * test.plan()->block_bytes);
  test.options.num_gpu_blocks_override = 37;
  QCOMPARE(test.plan()->limits.windows.size(), std::size_t{1});
  test.options.num_gpu_blocks_override = 0;
  test.options.max_model_len = 50;
  QVERIFY(test.plan()->limits.windows.empty());
  test.options.max_model_len = 0;
  for (const char* policy : {"static", "dynamic", "continuous"}) {
    test.options.policy = policy;
    QVERIFY(test.plan()->limits.windows.empty());
    QCOMPARE(test.plan()->estimate.kv, 4 * 16 * test.plan()->block_bytes);
  }
}

void MemoryPlanTest::bytes_are_shared_among_groups_data() {
  QTest::addColumn<int>("n_layer_blocks");
  QTest::addColumn<int>("n_blocks");
  QTest::addColumn<int>("n_windows");
  QTest::newRow("too few for groups") << 2 * 30 << 30 << 0;
  QTest::newRow("the last without") << 2 * 36 << 36 << 0;
  QTest::newRow("the first with") << 2 * 36 + 1 << 37 << 1;
  QTest::newRow("many") << 100 + 36 << 100 << 1;
}

/// The most that those bytes hold: one byte less, and it is a block less.
void MemoryPlanTest::bytes_are_shared_among_groups() {
  QFETCH(int, n_layer_blocks);
  QFETCH(int, n_blocks);
  Case test = mixed_case();
  test.options.kv_cache_memory_bytes = n_layer_blocks * kLayerBlock;
  QCOMPARE(test.plan()->limits.n_blocks, n_blocks);
  QTEST(static_cast<int>(test.plan()->limits.windows.size()), "n_windows");
  QCOMPARE(test.plan()->estimate.kv, n_layer_blocks * kLayerBlock);
  --test.options.kv_cache_memory_bytes;
  QCOMPARE(test.plan()->limits.n_blocks, n_blocks - 1);
}

void MemoryPlanTest::pool_holds_all_sequences_when_there_is_room() {
  Case test;
  test.options.max_num_seqs = 5;
  QCOMPARE(test.plan()->limits.n_blocks, 5 * 256 / 16);
}

void MemoryPlanTest::pool_takes_at_most_half_of_what_is_free() {
  Case test;
  const MemoryPlan roomy = *test.plan();
  const std::int64_t fixed = roomy.estimate.total() - roomy.estimate.kv;
  test.free = fixed + 100 * roomy.block_bytes;
  QCOMPARE(test.plan()->limits.n_blocks, 50);
}

void MemoryPlanTest::pool_never_holds_less_than_one_context() {
  Case test;
  test.free = 1;
  QCOMPARE(test.plan()->limits.n_blocks, 256 / 16);
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::wont_fit);
}

void MemoryPlanTest::override_is_obeyed() {
  Case test;
  test.options.num_gpu_blocks_override = 1000;
  QCOMPARE(test.plan()->limits.n_blocks, 1000);
  QCOMPARE(test.plan()->estimate.n_blocks, 1000);
  QCOMPARE(test.plan()->estimate.kv, 1000 * test.plan()->block_bytes);
}

void MemoryPlanTest::kv_bytes_are_obeyed() {
  Case test;
  test.options.kv_cache_memory_bytes = 512 * 16 * 40 + 100;
  QCOMPARE(test.plan()->block_bytes, 512 * 16);
  QCOMPARE(test.plan()->limits.n_blocks, 40);
}

void MemoryPlanTest::a_small_pool_shortens_the_context_with_a_warning() {
  Case test;
  test.options.num_gpu_blocks_override = 10;
  const auto plan = test.plan();
  QCOMPARE(plan->limits.n_blocks, 10);
  QCOMPARE(plan->limits.max_model_len, 160);
  QCOMPARE(plan->warnings.front(),
           std::string("max_model_len is 160 instead of 256: num_gpu_blocks_override limits the KV cache to that"));
}

void MemoryPlanTest::a_small_pool_against_an_asked_context_is_refused() {
  Case test;
  test.options.num_gpu_blocks_override = 10;
  test.options.max_model_len = 200;
  const auto plan = test.plan();
  QVERIFY(!plan.has_value());
  QCOMPARE(plan.error().where, std::string("num_gpu_blocks_override"));
  QVERIFY(contains(plan.error().message, "would hold 160 tokens, but one context of max_model_len needs 200"));
  QVERIFY(contains(plan.error().message, "Lower max_model_len, or raise num_gpu_blocks_override"));
}

void MemoryPlanTest::a_pool_with_few_reservations_is_warned_of() {
  Case test;
  test.options.num_gpu_blocks_override = 40;  // two contexts of 16 blocks and a half
  QVERIFY(test.plan()->warnings.empty());
  for (const char* policy : {"static", "dynamic", "continuous"}) {
    test.options.policy = policy;
    const auto plan = test.plan();
    QCOMPARE(plan->warnings.size(), 1U);
    QVERIFY(contains(plan->warnings.front(), std::string("policy ") + policy));
    QVERIFY(contains(plan->warnings.front(), "2 requests run at once instead of max_num_seqs 16"));
  }
  test.options.max_num_seqs = 2;
  QVERIFY(test.plan()->warnings.empty());
}

void MemoryPlanTest::kv_bytes_below_one_block_are_refused() {
  Case test;
  test.options.kv_cache_memory_bytes = 100;
  QVERIFY(!test.plan().has_value());
  QCOMPARE(test.plan().error().where, std::string("kv_cache_memory_bytes"));
}

void MemoryPlanTest::dtype_auto_is_as_stored() {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    Case test;
    test.stored = dtype;
    QVERIFY(test.plan()->weights.dtype == dtype);
  }
}

void MemoryPlanTest::dtype_may_be_chosen() {
  Case test;
  test.options.dtype = "bfloat16";
  QVERIFY(test.plan()->weights.dtype == Dtype::bf16);
}

void MemoryPlanTest::quantized_matrices_take_less() {
  const auto model = open_model(tests::tiny_model_path());
  const auto backend = kernels::make_cpu_backend({.n_threads = 1});
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const char* quantization : {"none", "int8_g32", "int4_g32"}) {
    EngineOptions options;
    options.quantization = quantization;
    const auto plan = plan_memory(*backend, model->config, Dtype::f32, options, kGibibyte);
    QVERIFY(plan->weights.dtype == Dtype::f32);
    QVERIFY(plan->estimate.weights < before);
    before = plan->estimate.weights;
  }
}

void MemoryPlanTest::kv_dtype_auto_is_as_compute() {
  Case test;
  test.options.dtype = "float16";
  QVERIFY(test.plan()->kv_dtype == Dtype::f16);
}

void MemoryPlanTest::kv_dtype_may_be_chosen() {
  Case test;
  test.options.kv_cache_dtype = "bfloat16";
  QVERIFY(test.plan()->weights.dtype == Dtype::f32);
  QVERIFY(test.plan()->kv_dtype == Dtype::bf16);
  QCOMPARE(test.plan()->block_bytes, 256 * 16);
  test.options.kv_cache_dtype = "fp8_e5m2";
  QVERIFY(test.plan()->kv_dtype == Dtype::f8_e5m2);
  QCOMPARE(test.plan()->block_bytes, 128 * 16);
}

void MemoryPlanTest::kv_in_int8_counts_its_scales() {
  Case test;
  test.options.kv_cache_dtype = "float32";
  const std::int64_t heads = test.plan()->block_bytes / 4 / 16;  // of tokens; each has 16 numbers
  test.options.kv_cache_dtype = "int8";
  QVERIFY(test.plan()->kv_dtype == Dtype::i8);
  QCOMPARE(test.plan()->block_bytes, heads * (16 + 4));
}

void MemoryPlanTest::rows_follow_the_options() {
  Case test;
  test.options.max_num_batched_tokens = 77;
  test.options.block_size = 4;
  QCOMPARE(test.plan()->limits.max_rows, 77);
  QCOMPARE(test.plan()->limits.block_size, 4);
  QCOMPARE(test.plan()->limits.max_logit_rows, 77);
}

void MemoryPlanTest::logit_rows_are_at_least_one_a_sequence() {
  auto model = open_model(tests::tiny_model_path());
  model->config.vocab_size = 1 << 20;  // 4 MiB a row
  const auto backend = kernels::make_reference_backend();
  EngineOptions options;
  options.max_num_batched_tokens = 2048;
  options.max_num_seqs = 100;
  QCOMPARE(plan_memory(*backend, model->config, Dtype::f32, options, std::nullopt)->limits.max_logit_rows, 100);
  options.max_num_seqs = 4;
  QCOMPARE(plan_memory(*backend, model->config, Dtype::f32, options, std::nullopt)->limits.max_logit_rows, 16);
}

void MemoryPlanTest::verdict_by_what_is_free() {
  Case test;
  test.options.num_gpu_blocks_override = 100;
  const std::int64_t total = test.plan()->estimate.total();
  test.free = total * 2;
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::fits);
  test.free = total + total / 100;
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::tight);
  test.free = total;
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::tight);
  test.free = total - 1;
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::wont_fit);
}

void MemoryPlanTest::unknown_free_memory_gives_no_verdict() {
  Case test;
  test.free = std::nullopt;
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::unknown);
}

void MemoryPlanTest::slots_stay_in_32_bits() {
  Case test;
  test.options.block_size = 256;
  test.options.num_gpu_blocks_override = 1 << 24;
  QCOMPARE(test.plan()->limits.n_blocks, 0x7fffffff / 256);
}

void MemoryPlanTest::L20_the_largest_legal_config_does_not_fit() {
  auto model = open_model(tests::tiny_model_path());
  ModelConfig& config = model->config;
  config.vocab_size = kMaxVocab;
  config.hidden_size = config.intermediate_size = kMaxWidth;
  config.n_layers = kMaxLayers;
  config.n_heads = config.n_kv_heads = kMaxHeads;
  config.head_dim = kMaxHeadDim;
  config.max_position_embeddings = kMaxPositions;
  EngineOptions options;
  options.dtype = options.kv_cache_dtype = "float32";
  options.max_num_seqs = 4096;
  options.max_num_batched_tokens = 1 << 24;
  for (const int block_size : {16, 256}) {
    options.block_size = block_size;
    for (const char* isa : {"reference", "cpu"}) {
      const auto backend = isa[0] == 'r' ? kernels::make_reference_backend() : kernels::make_cpu_backend({});
      const auto plan = plan_memory(*backend, config, Dtype::f32, options, kGibibyte);
      QVERIFY2(plan.has_value(), plan ? "" : plan.error().message.c_str());
      const FitEstimate& estimate = plan->estimate;
      QVERIFY(estimate.weights > 0 && estimate.kv > 0 && estimate.activations > 0 && estimate.other > 0);
      QCOMPARE(estimate.total(), std::numeric_limits<std::int64_t>::max());
      QVERIFY(estimate.verdict == FitVerdict::wont_fit);
      QCOMPARE(plan->fitting_tokens, 0);
      const auto fit = check_fit(*backend, config, Dtype::f32, options, *plan);
      QVERIFY2(contains(fit.error().message, "the weights alone are too large"), fit.error().message.c_str());
    }
  }
}

LATHE_TEST(MemoryPlanTest)

}  // namespace memory_plan_test
#include "memory_plan_test.moc"
