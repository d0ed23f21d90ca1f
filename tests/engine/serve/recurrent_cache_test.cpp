// SPDX-License-Identifier: Apache-2.0
// Models with recurrent layers behind the whole engine: an answer is what it is alone, whatever the policy, the batch, and
// how often it was preempted, and whether its beginning came from the prefix cache, which continues from snapshots of
// states.
#include <QTest>
#include <algorithm>
#include <array>

#include "engine/api/checkpoint.h"
#include "engine/schedule/batch_builder.h"
#include "engine/schedule/policies.h"
#include "engine/serve/engine_loop.h"
#include "tests/support/bpe_files.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace recurrent_cache_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kBlockSize = 4;
constexpr int kChunk = 16;
constexpr int kAnswer = 12;
constexpr int kContext = 256;
constexpr std::array kFamilies{"qwen3-5-uneven", "qwen3-next", "lfm2-uneven"};
constexpr std::array kAllFamilies{"qwen3-5",    "qwen3-5-uneven",    "qwen3-5-moe", "qwen3-5-moe-uneven",
                                  "qwen3-next", "qwen3-next-uneven", "lfm2",        "lfm2-uneven",
                                  "lfm2-moe",   "lfm2-moe-uneven"};

int vocab_of(const std::string& family) {
  return read_json_file(family_path(family) + "/config.json").at("vocab_size").get<int>();
}

std::unique_ptr<engine::Engine> engine_of(const std::string& family, const std::string& isa, std::string_view policy,
                                          int n_blocks, int n_snapshots = 0, int max_model_len = 0) {
  RunnerDriver driver(family_path(family), {.isa = isa,
                                            .block_size = kBlockSize,
                                            .n_blocks = n_blocks / 16,
                                            .max_model_len = max_model_len,
                                            .n_snapshots = n_snapshots});
  engine::EngineParts parts;
  parts.model.options.policy = policy;
  parts.model.options.enable_prefix_caching = true;  // without snapshots it has no effect
  parts.model.options.max_num_seqs = 8;
  parts.model.options.max_num_batched_tokens = kChunk;
  parts.model.n_threads = 2;
  parts.tokenizer = std::make_unique<FakeTokenizer>(vocab_of(family));
  parts.runner = driver.take_runner();
  return engine::make_engine_loop(std::move(parts));
}

engine::GenerateRequest request_of(std::uint64_t seed, int n_prompt, int n_answer, int vocab) {
  engine::GenerateRequest request = greedy_request(random_prompt(seed, n_prompt, vocab), n_answer);
  request.sampling.ignore_eos = true;
  return request;
}

/// The events of a request, in their order.
std::vector<engine::SchedulerEvent> events_of(const engine::Engine& engine, std::uint64_t id) {
  std::uint64_t cursor = 0;
  std::vector<engine::SchedulerEvent> events = engine.events_since(cursor);
  std::erase_if(events, [id](const engine::SchedulerEvent& event) { return event.request_id != id; });
  return events;
}

std::vector<std::int32_t> joined(std::vector<std::int32_t> first, const std::vector<std::int32_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Tokens of an answer and the bits of their log probabilities.
std::pair<std::vector<std::int32_t>, std::vector<float>> bits_of(const Answer& answer) {
  std::vector<float> numbers;
  for (const engine::LogprobList& list : answer.all.logprobs) {
    for (const auto& one : list) numbers.push_back(one.logprob);
  }
  return {answer.ids(), numbers};
}

/// Printable bytes alone, so that the fixture's vocabulary holds it.
engine::Json small_tokenizer_file() {
  engine::Json file = byte_level_file();
  file["added_tokens"] = engine::Json::array();
  engine::Json vocabulary = engine::Json::object();
  for (int code = 0x21; code <= 0x7E; ++code) vocabulary[std::string(1, static_cast<char>(code))] = code - 0x21;
  file["model"]["vocab"] = vocabulary;
  file["model"]["merges"] = engine::Json::array();
  return file;
}

}  // namespace

class RecurrentCacheTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void answers_are_those_of_one_sequence_alone_data();
  void answers_are_those_of_one_sequence_alone();
  void cancelled_requests_leave_no_trace();
  void a_warm_cache_gives_the_bits_of_a_cold_one_data();
  void a_warm_cache_gives_the_bits_of_a_cold_one();
  void the_next_turn_computes_what_follows_the_nearest_snapshot();
  void prompts_that_begin_alike_share_a_snapshot();
  void snapshots_stay_within_their_number();
  void a_preempted_request_continues_from_a_snapshot();
  void a_load_takes_what_was_estimated_and_shares_prefixes();
  void a_load_without_prefix_caching_has_no_snapshots();
  void two_sequences_with_one_slot_are_refused();
  void cleanupTestCase() { QVERIFY(n_preemptions_ > 0); }

 private:
  std::int64_t n_preemptions_ = 0;  ///< in all rows
};

void RecurrentCacheTest::answers_are_those_of_one_sequence_alone_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("isa");
  QTest::addColumn<QString>("policy");
  QTest::addColumn<int>("n_blocks");
  QTest::addColumn<int>("n_snapshots");
  for (const char* const family : kFamilies) {
    for (const std::string& isa : kernels::cpu_isas()) {
      for (const engine::PolicyDescriptor* const policy : engine::policy_table()) {
        const std::string name(policy->name);
        // 128 blocks hold all at once; 16 hold one of the longest, so that some are preempted and computed again.
        for (const int n_blocks : name == "paged" ? std::vector{128, 16} : std::vector{128}) {
          for (const int n_snapshots : name == "paged" ? std::vector{0, 3, 24} : std::vector{0}) {
            QTest::addRow("%s, %s, %s, %d blocks, %d snapshots", family, isa.c_str(), name.c_str(), n_blocks, n_snapshots)
                << family << QString::fromStdString(isa) << QString::fromStdString(name) << n_blocks << n_snapshots;
          }
        }
      }
    }
  }
}

/// Twice, so that the second time sequences get slots that others have used. With snapshots enough for all prompts the
/// second pass finds all of each but the rest of its last block.
void RecurrentCacheTest::answers_are_those_of_one_sequence_alone() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  QFETCH(QString, policy);
  QFETCH(int, n_blocks);
  QFETCH(int, n_snapshots);
  const std::string name = family.toStdString();
  const int vocab = vocab_of(name);
  std::vector<engine::GenerateRequest> requests;
  for (const int n_prompt : {5, 12, 13, 1, 30, 41, 41}) {
    requests.push_back(request_of(static_cast<std::uint64_t>(n_prompt), n_prompt, kAnswer, vocab));
  }
  const auto engine = engine_of(name, isa.toStdString(), policy.toStdString(), n_blocks, n_snapshots);
  RunnerDriver alone(family_path(name), {.isa = isa.toStdString()});
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<engine::RequestHandlePtr> handles;
    for (const engine::GenerateRequest& request : requests) handles.push_back(*engine->submit(request));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Answer answer = collect(*handles[i]);
      QCOMPARE(answer.ids(), alone.greedy(requests[i].prompt_token_ids, kAnswer));
      const auto n_prompt = static_cast<std::int64_t>(requests[i].prompt_token_ids.size());
      if (n_snapshots == 0) QCOMPARE(answer.all.usage.n_cached_tokens, 0);
      if (n_snapshots == 24 && n_blocks == 128 && pass == 1)
        QCOMPARE(answer.all.usage.n_cached_tokens, (n_prompt - 1) / kBlockSize * kBlockSize);
    }
    QCOMPARE(engine->snapshot()->n_blocks_used, 0);
    QCOMPARE(engine->snapshot()->states.n_slots_used, 0);
  }
  // When requests arrive decides how many are preempted: of all instruction sets some see it.
  const std::int64_t n_preemptions = engine->snapshot()->counters.n_preemptions;
  if (n_blocks != 16) QCOMPARE(n_preemptions, 0);
  n_preemptions_ += n_preemptions;
}

void RecurrentCacheTest::cancelled_requests_leave_no_trace() {
  const std::string name = kFamilies.front();
  const int vocab = vocab_of(name);
  const auto engine = engine_of(name, kernels::cpu_isas().back(), "paged", 32, 6);
  const engine::GenerateRequest kept = request_of(1, 20, kAnswer, vocab);
  RunnerDriver alone(family_path(name), {.isa = kernels::cpu_isas().back()});
  const auto expected = alone.greedy(kept.prompt_token_ids, kAnswer);
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<engine::RequestHandlePtr> dropped;
    for (std::uint64_t i = 0; i < 12; ++i) {
      dropped.push_back(*engine->submit(request_of(100 + 12 * round + i, 1 + static_cast<int>(5 * i % 40), 20, vocab)));
    }
    const auto handle = *engine->submit(kept);
    for (std::size_t i = 0; i < dropped.size(); i += 2) dropped[i]->cancel();
    QCOMPARE(collect(*handle).ids(), expected);
    for (const auto& other : dropped) collect(*other);
  }
  const auto snapshot = engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(snapshot->states.n_slots_used, 0);
  QVERIFY(snapshot->states.n_snapshots_held > 0 && snapshot->states.n_snapshots_held <= 6);
}

void RecurrentCacheTest::a_warm_cache_gives_the_bits_of_a_cold_one_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("isa");
  for (const char* const family : kAllFamilies) {
    for (const std::string& isa : kernels::cpu_isas()) {
      QTest::addRow("%s, %s", family, isa.c_str()) << family << QString::fromStdString(isa);
    }
  }
}

/// A prompt again, with another ending, and as the beginning of a longer one.
void RecurrentCacheTest::a_warm_cache_gives_the_bits_of_a_cold_one() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  const std::string name = family.toStdString();
  const int vocab = vocab_of(name);
  const auto warm = engine_of(name, isa.toStdString(), "paged", 256, 24, kContext),
             cold = engine_of(name, isa.toStdString(), "paged", 256, 0, kContext);
  const auto prompt = random_prompt(5, 43, vocab);
  std::vector<std::vector<std::int32_t>> prompts = {prompt, prompt, joined(prompt, random_prompt(6, 9, vocab))};
  prompts.push_back(joined({prompt.begin(), prompt.begin() + 41}, random_prompt(7, 20, vocab)));
  std::vector<std::int64_t> n_cached;
  for (const std::vector<std::int32_t>& ids : prompts) {
    engine::GenerateRequest request = greedy_request(ids, 20);
    request.sampling.ignore_eos = true;
    request.sampling.logprobs = 3;
    const Answer answer = ask(*warm, request);
    QVERIFY(bits_of(answer) == bits_of(ask(*cold, request)));
    QVERIFY(bits_of(answer).second.size() >= 20);
    n_cached.push_back(answer.all.usage.n_cached_tokens);
  }
  QCOMPARE(n_cached, (std::vector<std::int64_t>{0, 40, 40, 40}));
}

void RecurrentCacheTest::the_next_turn_computes_what_follows_the_nearest_snapshot() {
  for (const char* const name : kFamilies) {
    const int vocab = vocab_of(name);
    const std::string isa = kernels::cpu_isas().back();
    const auto engine = engine_of(name, isa, "paged", 256, 24, kContext);
    RunnerDriver alone(family_path(name), {.isa = isa, .max_model_len = kContext});
    const auto first = random_prompt(9, 30, vocab);
    const Answer answer = ask(*engine, request_of(9, 30, 70, vocab));
    QCOMPARE(answer.ids(), alone.greedy(first, 70));
    // 99 tokens are computed: the prompt's snapshot is at 28, the answer's at 64, and K and V are there up to 96.
    QCOMPARE(engine->snapshot()->states.n_snapshots_held, 2);
    const std::uint64_t n_before = engine->snapshot()->counters.n_prefill_tokens;
    const auto history = joined(first, answer.ids());
    const auto second = joined(history, random_prompt(10, 10, vocab));
    engine::GenerateRequest request = greedy_request(second, kAnswer);
    request.sampling.ignore_eos = true;
    const auto handle = *engine->submit(request);
    const Answer next = collect(*handle);
    QCOMPARE(next.ids(), alone.greedy(second, kAnswer));
    QCOMPARE(next.all.usage.n_cached_tokens, 64);
    QCOMPARE(engine->snapshot()->counters.n_prefill_tokens - n_before, 46U);
    const auto events = events_of(*engine, handle->id());
    QVERIFY(std::any_of(events.begin(), events.end(), [](const engine::SchedulerEvent& event) {
      return sentence_of(event).starts_with(
          "64 of 110 prompt tokens cached; KV for 96 tokens cached, nearest snapshot at 64");
    }));
    // Where the K and V had ended is a snapshot now: another question after the same answer begins there.
    const auto other = joined(history, random_prompt(11, 10, vocab));
    const Answer again = ask(*engine, greedy_request(std::vector(other), kAnswer));
    QCOMPARE(again.all.usage.n_cached_tokens, 96);
    QCOMPARE(again.ids(), std::vector(alone.greedy(other, static_cast<int>(again.ids().size()))));
  }
}

void RecurrentCacheTest::prompts_that_begin_alike_share_a_snapshot() {
  const std::string name = kFamilies.front();
  const int vocab = vocab_of(name);
  const auto engine = engine_of(name, kernels::cpu_isas().back(), "paged", 256, 24, kContext);
  const auto system = random_prompt(20, 61, vocab);
  std::vector<std::int64_t> n_cached;
  for (std::uint64_t i = 0; i < 3; ++i) {
    engine::GenerateRequest request = greedy_request(joined(system, random_prompt(30 + i, 20, vocab)), 5);
    request.sampling.ignore_eos = true;
    n_cached.push_back(ask(*engine, request).all.usage.n_cached_tokens);
  }
  QCOMPARE(n_cached, (std::vector<std::int64_t>{0, 0, 60}));
}

void RecurrentCacheTest::snapshots_stay_within_their_number() {
  const std::string name = kFamilies.front();
  const int vocab = vocab_of(name);
  const auto engine = engine_of(name, kernels::cpu_isas().back(), "paged", 256, 2, kContext);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t seed = 40; seed < 44; ++seed) {
      // Four prompts in turn never find one of two snapshots; their blocks are there.
      QCOMPARE(ask(*engine, request_of(seed, 20, 3, vocab)).all.usage.n_cached_tokens, 0);
      QVERIFY(engine->snapshot()->states.n_snapshots_held <= 2);
    }
  }
  QCOMPARE(ask(*engine, request_of(43, 20, 3, vocab)).all.usage.n_cached_tokens, 16);
  const engine::RecurrentStates states = engine->snapshot()->states;
  QCOMPARE(states.n_snapshots, 2);
  QCOMPARE(states.n_snapshots_taken, 8U);
  QCOMPARE(states.n_snapshots_evicted, 6U);
  QCOMPARE(states.n_snapshot_hits, 1U);
  QVERIFY(states.slot_bytes > 0);
}

/// The answers grow until the pool is full. The last request gives its blocks back from the end, so what is left of them
/// ends before its newest snapshot, or at it.
void RecurrentCacheTest::a_preempted_request_continues_from_a_snapshot() {
  const std::string name = kFamilies.front(), isa = kernels::cpu_isas().back();
  const int vocab = vocab_of(name);
  const auto engine = engine_of(name, isa, "paged", 64, 24, kContext);
  RunnerDriver alone(family_path(name), {.isa = isa, .max_model_len = kContext});
  std::vector<engine::RequestHandlePtr> handles;
  for (std::uint64_t seed = 50; seed < 54; ++seed) handles.push_back(*engine->submit(request_of(seed, 41, 60, vocab)));
  for (std::size_t i = 0; i < handles.size(); ++i) {
    QCOMPARE(collect(*handles[i]).ids(), alone.greedy(random_prompt(50 + i, 41, vocab), 60));
  }
  std::int64_t n_resumed = 0;
  for (const engine::RequestHandlePtr& handle : handles) {
    for (const engine::SchedulerEvent& event : events_of(*engine, handle->id())) {
      if (event.kind == engine::SchedulerEventKind::resumed && event.n[0] > 0) ++n_resumed;
    }
  }
  QVERIFY(engine->snapshot()->counters.n_preemptions > 0);
  QVERIFY(n_resumed > 0);
}

void RecurrentCacheTest::a_load_takes_what_was_estimated_and_shares_prefixes() {
  engine::EngineOptions options;
  options.model = family_path("qwen3-5");
  const TextFolder folder;
  options.tokenizer = folder.path();
  folder.write("tokenizer.json", small_tokenizer_file().dump());
  options.dtype = "float32";
  options.block_size = kBlockSize;
  options.max_num_seqs = 3;
  options.max_num_batched_tokens = kChunk;
  const auto info = engine::inspect_checkpoint(options.model);
  QVERIFY2(info.has_value(), info.has_value() ? "" : info.error().message.c_str());
  std::vector<std::int64_t> kv_bytes;
  for (const int n_seqs : {3, 6}) {
    options.max_num_seqs = n_seqs;
    options.num_gpu_blocks_override = 64;
    const auto fit = engine::estimate_fit(*info, options);
    QVERIFY(fit.has_value());
    const auto engine = engine::load_engine(options, {});
    QVERIFY2(engine.has_value(), engine.has_value() ? "" : engine.error().message.c_str());
    const engine::LoadedModel& model = (*engine)->model();
    QCOMPARE(model.memory.kv, fit->kv);
    kv_bytes.push_back(fit->kv);
    QVERIFY(model.options.enable_prefix_caching);
    QCOMPARE((*engine)->snapshot()->states.n_snapshots, n_seqs == 3 ? 8 : 12);
    QCOMPARE((*engine)->snapshot()->states.slot_bytes * (n_seqs == 3 ? 8 : 12), fit->snapshots);
    const auto prompt = random_prompt(3, 40, 90);
    for (const std::int64_t n_cached : {0, 36}) {
      QCOMPARE(ask(**engine, greedy_request(std::vector(prompt), 5)).all.usage.n_cached_tokens, n_cached);
    }
  }
  // Three layers of four have states in each slot, of 4 heads of 16 x 16 (32 columns are the least) and of 3 rows of 128
  // channels. One layer has blocks of K and V.
  const kernels::KvShape one{.n_layers = 1,
                             .n_kv_heads = 2,
                             .head_dim = 16,
                             .block_size = kBlockSize,
                             .n_blocks = 64,
                             .dtype = kernels::Dtype::f32};
  const auto blocks = static_cast<std::int64_t>(kernels::make_cpu_backend({.n_threads = 1})->kv_layer_bytes(one));
  const std::int64_t state = 3 * (4 * 16 * 32 + 3 * 128) * 4;
  QCOMPARE(kv_bytes[1] - kv_bytes[0], (3 + 4) * state);
  QCOMPARE(kv_bytes[0], blocks + (3 + 8) * state);
}

void RecurrentCacheTest::a_load_without_prefix_caching_has_no_snapshots() {
  engine::EngineOptions options;
  options.model = family_path("qwen3-5");
  const TextFolder folder;
  options.tokenizer = folder.path();
  folder.write("tokenizer.json", small_tokenizer_file().dump());
  options.dtype = "float32";
  options.block_size = kBlockSize;
  options.enable_prefix_caching = false;
  const auto engine = engine::load_engine(options, {});
  QVERIFY2(engine.has_value(), engine.has_value() ? "" : engine.error().message.c_str());
  QCOMPARE((*engine)->model().estimate.snapshots, 0);
  for (int pass = 0; pass < 2; ++pass) {
    QCOMPARE(ask(**engine, greedy_request(random_prompt(3, 40, 90), 5)).all.usage.n_cached_tokens, 0);
  }
  QCOMPARE((*engine)->snapshot()->states.n_snapshots, 0);
  QCOMPARE((*engine)->snapshot()->states.n_snapshots_taken, 0U);
}

void RecurrentCacheTest::two_sequences_with_one_slot_are_refused() {
  RunnerDriver driver(family_path("qwen3-next"), {.n_blocks = 4, .max_rows = 16});
  const std::vector<std::int32_t> ids = {3, 10, 17};
  for (const std::int32_t slot : {0, -1, 16}) {
    const engine::BlockTable first = engine::consecutive_blocks(0, 1), second = engine::consecutive_blocks(1, 1, 0, slot);
    engine::BatchBuilder builder({.block_size = driver.runner().limits().block_size});
    builder.clear();
    builder.add({.table = first, .token_ids = ids, .n_logits = 1});
    builder.add({.table = second, .token_ids = ids, .n_logits = 1});
    const auto output = driver.runner().run(builder.finish());
    QVERIFY(!output.has_value());
    QVERIFY2(output.error().message.find("has slot") != std::string::npos, output.error().message.c_str());
  }
}

LATHE_TEST(RecurrentCacheTest)

}  // namespace recurrent_cache_test
#include "recurrent_cache_test.moc"
