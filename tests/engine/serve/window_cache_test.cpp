// SPDX-License-Identifier: Apache-2.0
// Models whose layers have a window, all or some: what lies behind it is given back, and no answer notices.
#include <QTest>
#include <array>
#include <cstdio>

#include "engine/cache/paged_cache.h"
#include "engine/schedule/policies.h"
#include "engine/serve/engine_loop.h"
#include "tests/support/bpe_files.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace window_cache_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kVocab = 96;
constexpr int kBlockSize = 4;
constexpr int kWindow = 12;  // tests/fixtures/families
constexpr int kChunk = 16;
// A window in some layers; the last layers of the last two use the keys and values of earlier ones, or K as V.
constexpr std::array kMixed{"gemma2", "gemma3", "gpt-oss", "cohere2", "exaone4", "gemma4", "gemma4-per-layer"};

std::string path_of(const QString& family) { return source_path("tests/fixtures/families/" + family.toStdString()); }

struct CacheSize {
  int n_blocks = 0;
  bool shares = true;
  std::string_view policy = "paged";
  std::string isa{};
  int n_window_blocks = 0;  ///< of the layers with a window, where others see all
};

/// A real model; `n_blocks` of the pool in multiples of 16.
std::unique_ptr<engine::Engine> engine_of(const QString& family, const CacheSize& room) {
  RunnerChoice choice{.isa = room.isa, .block_size = kBlockSize, .n_blocks = room.n_blocks / 16};
  if (room.n_window_blocks > 0) choice.windows = {{.window = kWindow, .n_blocks = room.n_window_blocks}};
  RunnerDriver driver(path_of(family), choice);
  engine::EngineParts parts;
  parts.model.options.policy = room.policy;
  parts.model.options.enable_prefix_caching = room.shares;
  parts.model.options.max_num_seqs = 8;
  parts.model.options.max_num_batched_tokens = kChunk;
  parts.model.n_threads = 2;
  parts.tokenizer = std::make_unique<FakeTokenizer>(kVocab);
  parts.runner = driver.take_runner();
  return engine::make_engine_loop(std::move(parts));
}

engine::GenerateRequest request_of(std::uint64_t seed, int n_prompt, int n_answer, int vocab = kVocab) {
  engine::GenerateRequest request = greedy_request(random_prompt(seed, n_prompt, vocab), n_answer);
  request.sampling.ignore_eos = true;
  return request;
}

/// Printable bytes alone, so that the fixtures' vocabularies hold it.
engine::Json small_tokenizer_file() {
  engine::Json file = byte_level_file();
  file["added_tokens"] = engine::Json::array();
  engine::Json vocabulary = engine::Json::object();
  for (int code = 0x21; code <= 0x7E; ++code) vocabulary[std::string(1, static_cast<char>(code))] = code - 0x21;
  file["model"]["vocab"] = vocabulary;
  file["model"]["merges"] = engine::Json::array();
  return file;
}

std::vector<engine::GenerateRequest> requests_with_equal_beginnings() {
  std::vector<engine::GenerateRequest> requests;
  for (std::uint64_t i = 0; i < 40; ++i) {
    auto prompt = random_prompt(i % 3, 40);
    const auto own = random_prompt(100 + i, static_cast<int>(i % 7) * 9 + 1);
    prompt.insert(prompt.end(), own.begin(), own.end());
    requests.push_back(greedy_request(std::move(prompt), 30));
  }
  return requests;
}

std::vector<Answer> answers_to(engine::Engine& engine, const std::vector<engine::GenerateRequest>& requests) {
  std::vector<engine::RequestHandlePtr> handles;
  for (const engine::GenerateRequest& request : requests) {
    auto handle = engine.submit(request);
    LATHE_CHECK(handle.has_value());
    handles.push_back(std::move(*handle));
  }
  std::vector<Answer> answers;
  for (const auto& handle : handles) answers.push_back(collect(*handle));
  return answers;
}

/// Requests with equal beginnings are answered as from a cache that loses nothing.
void check_answers(Harness& harness) {
  const auto requests = requests_with_equal_beginnings();
  const auto answers = answers_to(*harness.engine, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    QVERIFY(!answers[i].timed_out);
    QCOMPARE(answers[i].ids(), harness.expected(requests[i].prompt_token_ids, 30));
  }
  QCOMPARE(harness.script->faults(), std::string());
}

}  // namespace

class WindowCacheTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void answers_are_as_with_all_kept_data();
  void answers_are_as_with_all_kept();
  void a_pool_of_a_window_holds_any_context();
  void more_requests_run_at_once();
  void a_layer_that_sees_all_keeps_all();
  void mixed_layers_answer_as_with_all_kept_data();
  void mixed_layers_answer_as_with_all_kept();
  void mixed_layers_hold_the_window_alone_data();
  void mixed_layers_hold_the_window_alone();
  void a_loaded_engine_takes_what_was_estimated_data();
  void a_loaded_engine_takes_what_was_estimated();
  void mixed_traffic_in_a_tight_pool_data();
  void mixed_traffic_in_a_tight_pool();
  void traffic_in_a_tight_pool_data();
  void traffic_in_a_tight_pool();
  void cleanupTestCase() { QVERIFY(n_preemptions_ > 0); }

 private:
  std::int64_t n_preemptions_ = 0;  ///< in all rows of mixed layers
};

void WindowCacheTest::answers_are_as_with_all_kept_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("isa");
  QTest::addColumn<QString>("policy");
  for (const char* const family : {"mistral", "phi3", "starcoder2"}) {
    for (const std::string& isa : kernels::cpu_isas()) {
      for (const engine::PolicyDescriptor* const policy : engine::policy_table()) {
        const std::string name(policy->name);
        QTest::addRow("%s, %s, %s", family, isa.c_str(), name.c_str())
            << family << QString::fromStdString(isa) << QString::fromStdString(name);
      }
    }
  }
}

/// All kept: a driver that gives nothing back. Twice, so that the second time prefixes are found.
void WindowCacheTest::answers_are_as_with_all_kept() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  QFETCH(QString, policy);
  std::vector<engine::GenerateRequest> requests;
  for (const int n_prompt : {5, 12, 13, 30, 61, 90}) requests.push_back(request_of(requests.size(), n_prompt, 25));
  const auto engine = engine_of(family, {.n_blocks = 256, .policy = policy.toStdString(), .isa = isa.toStdString()});
  for (int pass = 0; pass < 2; ++pass) {
    const auto answers = answers_to(*engine, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      RunnerDriver alone(path_of(family), {.isa = isa.toStdString()});
      QCOMPARE(answers[i].ids(), alone.greedy(requests[i].prompt_token_ids, 25));
      if (pass == 1 && policy == QLatin1String("paged")) {
        const auto n_whole = (std::ssize(requests[i].prompt_token_ids) - 1) / kBlockSize * kBlockSize;
        QCOMPARE(answers[i].all.usage.n_cached_tokens, n_whole);
      }
    }
    QCOMPARE(engine->snapshot()->n_blocks_used, 0);
  }
}

/// 16 blocks of 4 tokens, and a context of 128: every request would need twice the pool.
void WindowCacheTest::a_pool_of_a_window_holds_any_context() {
  const auto engine = engine_of("mistral", {.n_blocks = 16, .isa = "scalar"});
  const engine::GenerateRequest request = request_of(1, 100, 25);
  const Answer answer = ask(*engine, request);
  QVERIFY(answer.all.finish_reason == engine::FinishReason::length);
  RunnerDriver alone(path_of("mistral"), {.isa = "scalar"});
  QCOMPARE(answer.ids(), alone.greedy(request.prompt_token_ids, 25));
  QVERIFY(answer.all.timings.peak_blocks <= engine::peak_blocks(125, kWindow, kChunk, kBlockSize));
  QCOMPARE(engine->snapshot()->n_blocks_used, 0);
}

/// In the pool of one whole context several run side by side without one being thrown out.
void WindowCacheTest::more_requests_run_at_once() {
  constexpr int kBlocks = 32;  // 128 tokens
  std::vector<engine::GenerateRequest> requests;
  for (std::uint64_t seed = 0; seed < 6; ++seed) requests.push_back(request_of(seed, 20, 80));
  const auto engine = engine_of("mistral", {.n_blocks = kBlocks, .shares = false, .isa = "scalar"});
  std::vector<engine::RequestHandlePtr> handles;
  for (const auto& request : requests) handles.push_back(*engine->submit(request));
  for (const auto& handle : handles) QCOMPARE(collect(*handle).all.usage.n_completion_tokens, 80);
  std::uint64_t cursor = 0;
  int n_running = 0, n_most = 0;
  for (const engine::SchedulerEvent& event : engine->events_since(cursor)) {
    using enum engine::SchedulerEventKind;
    if (event.kind == admitted || event.kind == resumed) ++n_running;
    if (event.kind == finished || event.kind == preempted) --n_running;
    n_most = std::max(n_most, n_running);
  }
  QVERIFY2(n_most >= 3, qPrintable(QString::number(n_most)));  // whole contexts of 25 blocks each leave room for one
}

void WindowCacheTest::a_layer_that_sees_all_keeps_all() {
  for (const char* const family : {"gemma2", "cohere2", "qwen2", "llama"}) {
    RunnerDriver driver(path_of(family), {.isa = "scalar"});
    QCOMPARE(driver.runner().limits().window, 0);
  }
  RunnerDriver driver(path_of("mistral"), {.isa = "scalar"});
  QCOMPARE(driver.runner().limits().window, kWindow);
  RunnerDriver narrow(path_of("mistral"), {.isa = "scalar", .max_model_len = kWindow});
  QCOMPARE(narrow.runner().limits().window, 0);
}

void WindowCacheTest::mixed_layers_answer_as_with_all_kept_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("isa");
  QTest::addColumn<int>("n_blocks");
  QTest::addColumn<int>("n_window_blocks");
  // 256 hold all at once; 48 hold one and a half of the longest, so that some are thrown out and computed again. 64 of the
  // layers with a window are what eight requests hold at most; with 128 nothing is lost of what six leave behind.
  const std::vector<std::pair<int, int>> rooms{{256, 128}, {256, 64}, {48, 48}};
  for (const char* const family : kMixed) {
    for (const std::string& isa : kernels::cpu_isas()) {
      for (const auto& [n_blocks, n_window_blocks] : rooms) {
        QTest::addRow("%s, %s, %d blocks and %d", family, isa.c_str(), n_blocks, n_window_blocks)
            << family << QString::fromStdString(isa) << n_blocks << n_window_blocks;
      }
    }
  }
}

/// As above. Where the window group has lost what ends a prefix, the prefix is computed again.
void WindowCacheTest::mixed_layers_answer_as_with_all_kept() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  QFETCH(int, n_blocks);
  QFETCH(int, n_window_blocks);
  QCOMPARE(8 * engine::peak_blocks(128, kWindow, kChunk, kBlockSize), 64);
  const auto engine =
      engine_of(family, {.n_blocks = n_blocks, .isa = isa.toStdString(), .n_window_blocks = n_window_blocks});
  std::vector<engine::GenerateRequest> requests;
  for (const int n_prompt : {5, 12, 13, 30, 61, 90}) requests.push_back(request_of(requests.size(), n_prompt, 25));
  RunnerDriver alone(path_of(family), {.isa = isa.toStdString()});
  for (int pass = 0; pass < 2; ++pass) {
    const auto answers = answers_to(*engine, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      QCOMPARE(answers[i].ids(), alone.greedy(requests[i].prompt_token_ids, 25));
      if (pass == 1 && n_window_blocks == 128) {
        const auto n_whole = (std::ssize(requests[i].prompt_token_ids) - 1) / kBlockSize * kBlockSize;
        QCOMPARE(answers[i].all.usage.n_cached_tokens, n_whole);
      }
    }
    const auto snapshot = engine->snapshot();
    QCOMPARE(snapshot->n_blocks_used, 0);
    QCOMPARE(snapshot->windows.size(), std::size_t{1});
    QCOMPARE(snapshot->windows.front().n_blocks_used, 0);
  }
  // When requests arrive decides how many are preempted: some rows see it.
  const std::int64_t n_preemptions = engine->snapshot()->counters.n_preemptions;
  if (n_blocks != 48) QCOMPARE(n_preemptions, 0);
  n_preemptions_ += n_preemptions;
}

void WindowCacheTest::mixed_layers_hold_the_window_alone_data() {
  QTest::addColumn<QString>("family");
  for (const char* const family : kMixed) QTest::addRow("%s", family) << family;
}

/// A window group with the blocks of one request alone carries it through its whole context.
void WindowCacheTest::mixed_layers_hold_the_window_alone() {
  QFETCH(QString, family);
  const auto n_most = static_cast<int>(engine::peak_blocks(128, kWindow, kChunk, kBlockSize));
  QCOMPARE(n_most, 8);  // 12 tokens and 16, and one block for how they lie
  const auto engine = engine_of(family, {.n_blocks = 32, .isa = "scalar", .n_window_blocks = n_most});
  const engine::GenerateRequest request = request_of(1, 100, 25);
  const Answer answer = ask(*engine, request);
  RunnerDriver alone(path_of(family), {.isa = "scalar"});
  QCOMPARE(answer.ids(), alone.greedy(request.prompt_token_ids, 25));
  QCOMPARE(answer.all.timings.peak_blocks, 31);  // 124 tokens in the layers that see all
}

void WindowCacheTest::a_loaded_engine_takes_what_was_estimated_data() { mixed_layers_hold_the_window_alone_data(); }

/// From a folder: estimate, allocation and answers; beside a policy that keeps whole contexts for all layers.
void WindowCacheTest::a_loaded_engine_takes_what_was_estimated() {
  QFETCH(QString, family);
  engine::EngineOptions options;
  options.model = path_of(family);
  const TextFolder folder;
  options.tokenizer = folder.path();
  folder.write("tokenizer.json", small_tokenizer_file().dump());
  options.dtype = "float32";
  options.isa = "scalar";
  options.block_size = kBlockSize;
  options.max_num_seqs = 2;
  options.max_num_batched_tokens = kChunk;
  const auto info = engine::inspect_checkpoint(options.model);
  QVERIFY(info.has_value());
  std::vector<std::vector<std::int32_t>> answers;
  std::vector<engine::FitEstimate> fits;
  for (const char* const policy : {"paged", "continuous"}) {
    options.policy = policy;
    const auto fit = engine::estimate_fit(*info, options);
    QVERIFY(fit.has_value());
    const auto engine = engine::load_engine(options, {});
    QVERIFY2(engine.has_value(), engine.has_value() ? "" : engine.error().message.c_str());
    QCOMPARE((*engine)->model().memory.kv, fit->kv);
    QCOMPARE((*engine)->snapshot()->windows.size(), fit->windows.size());
    answers.push_back(ask(**engine, request_of(3, 100, 25)).ids());
    fits.push_back(*fit);
  }
  QCOMPARE(answers[0], answers[1]);
  const engine::FitEstimate &grouped = fits[0], &whole = fits[1];
  QVERIFY(whole.windows.empty());
  QCOMPARE(grouped.windows.size(), std::size_t{1});
  QCOMPARE(grouped.n_blocks, whole.n_blocks);
  QCOMPARE(whole.n_blocks, 2 * 128 / kBlockSize);
  const engine::FitWindow& window = grouped.windows.front();
  QCOMPARE(window.window, kWindow);
  QCOMPARE(window.n_blocks, 2 * 8);  // of 64
  const std::int64_t block_bytes = whole.kv / info->n_layers / whole.n_blocks;
  // Blocks of Gemma 4 differ in size from layer to layer, and some layers have none of their own.
  if (family.startsWith("gemma4")) QVERIFY(whole.kv > grouped.kv);
  else QCOMPARE(whole.kv - grouped.kv, (whole.n_blocks - window.n_blocks) * window.n_layers * block_bytes);
  std::printf("%s, 2 contexts of 128 tokens: KV %lld bytes instead of %lld\n", qPrintable(family),
              static_cast<long long>(grouped.kv), static_cast<long long>(whole.kv));
}

void WindowCacheTest::mixed_traffic_in_a_tight_pool_data() {
  QTest::addColumn<int>("window");
  QTest::addColumn<bool>("shares");
  for (const int window : {1, 6, 16, 40}) {
    for (const bool shares : {false, true}) {
      QTest::addRow("window %d, %s", window, shares ? "shared" : "not shared") << window << shares;
    }
  }
}

/// As traffic_in_a_tight_pool(), through two groups: the runner tells when a block of either has another's content.
void WindowCacheTest::mixed_traffic_in_a_tight_pool() {
  QFETCH(int, window);
  QFETCH(bool, shares);
  HarnessOptions options;
  options.engine.max_num_seqs = 6;
  options.engine.max_num_batched_tokens = 16;
  options.engine.enable_prefix_caching = shares;
  options.n_blocks = 60;
  const auto n_most = static_cast<int>(6 * engine::peak_blocks(200, window, 16, 4));
  options.windows = {{.window = window, .n_blocks = std::min(n_most, options.n_blocks)}};
  Harness harness(options);
  check_answers(harness);
  if (QTest::currentTestFailed()) return;
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  const engine::KvWindowState& state = snapshot->windows.front();
  QCOMPARE(state.n_blocks_used, 0);
  QCOMPARE(state.n_blocks_cached + state.n_blocks_free, state.n_blocks);
  QCOMPARE(snapshot->counters.n_prefix_hits > 0, shares);
  QVERIFY(snapshot->counters.n_preemptions > 0);
}

void WindowCacheTest::traffic_in_a_tight_pool_data() {
  QTest::addColumn<int>("window");
  QTest::addColumn<int>("n_blocks");
  QTest::addColumn<bool>("shares");
  for (const int window : {1, 6, 16}) {
    for (const bool shares : {false, true}) {
      QTest::addRow("window %d, %s", window, shares ? "shared" : "not shared") << window << 14 << shares;
    }
  }
}

/// A runner that reads nothing but the window through the tables and tells when a block has another's content. Prompts with
/// equal beginnings, more than the pool holds: preemption, eviction, hits.
void WindowCacheTest::traffic_in_a_tight_pool() {
  QFETCH(int, window);
  QFETCH(int, n_blocks);
  QFETCH(bool, shares);
  HarnessOptions options;
  options.engine.max_num_seqs = 6;
  options.engine.max_num_batched_tokens = 16;
  options.engine.enable_prefix_caching = shares;
  options.n_blocks = n_blocks;
  options.window = window;
  Harness harness(options);
  check_answers(harness);
  if (QTest::currentTestFailed()) return;
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(snapshot->n_blocks_cached + snapshot->n_blocks_free, n_blocks);
}

LATHE_TEST(WindowCacheTest)

}  // namespace window_cache_test
#include "window_cache_test.moc"
