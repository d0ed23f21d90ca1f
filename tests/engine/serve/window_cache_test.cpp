// SPDX-License-Identifier: Apache-2.0
// Models whose every layer has a window: what lies behind it is given back, and no answer notices.
#include <QTest>

#include "engine/cache/paged_cache.h"
#include "engine/schedule/policies.h"
#include "engine/serve/engine_loop.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kVocab = 96;
constexpr int kBlockSize = 4;
constexpr int kWindow = 12;  // tests/fixtures/families
constexpr int kChunk = 16;

std::string path_of(const QString& family) { return source_path("tests/fixtures/families/" + family.toStdString()); }

struct Room {
  int n_blocks = 0;
  bool shares = true;
  std::string_view policy = "paged";
  std::string isa{};
};

/// A real model; `n_blocks` of the pool in multiples of 16.
std::unique_ptr<engine::Engine> engine_of(const QString& family, const Room& room) {
  RunnerDriver driver(path_of(family), {.isa = room.isa, .block_size = kBlockSize, .n_blocks = room.n_blocks / 16});
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

}  // namespace

class WindowCacheTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void answers_are_as_with_all_kept_data();
  void answers_are_as_with_all_kept();
  void a_pool_of_a_window_holds_any_context();
  void more_requests_run_at_once();
  void a_layer_that_sees_all_keeps_all();
  void traffic_in_a_tight_pool_data();
  void traffic_in_a_tight_pool();
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
  std::vector<engine::GenerateRequest> requests;
  for (std::uint64_t i = 0; i < 40; ++i) {
    auto prompt = random_prompt(i % 3, 40);
    const auto own = random_prompt(100 + i, static_cast<int>(i % 7) * 9 + 1);
    prompt.insert(prompt.end(), own.begin(), own.end());
    requests.push_back(greedy_request(std::move(prompt), 30));
  }
  const auto answers = answers_to(*harness.engine, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    QVERIFY(!answers[i].timed_out);
    QCOMPARE(answers[i].ids(), harness.expected(requests[i].prompt_token_ids, 30));
  }
  QCOMPARE(harness.script->faults(), std::string());
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(snapshot->n_blocks_cached + snapshot->n_blocks_free, n_blocks);
}

QTEST_GUILESS_MAIN(WindowCacheTest)
#include "window_cache_test.moc"
