// SPDX-License-Identifier: Apache-2.0
// Models with recurrent layers behind the whole engine: an answer is what it is alone, whatever the policy, the batch, and
// how often it was preempted; prefixes are not shared, and a load says so.
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
constexpr std::array kFamilies{"qwen3-5-uneven", "qwen3-next", "lfm2-uneven"};

int vocab_of(const std::string& family) {
  return read_json_file(family_path(family) + "/config.json").at("vocab_size").get<int>();
}

std::unique_ptr<engine::Engine> engine_of(const std::string& family, const std::string& isa, std::string_view policy,
                                          int n_blocks) {
  RunnerDriver driver(family_path(family), {.isa = isa, .block_size = kBlockSize, .n_blocks = n_blocks / 16});
  engine::EngineParts parts;
  parts.model.options.policy = policy;
  parts.model.options.enable_prefix_caching = true;  // has no effect
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
  void a_load_takes_what_was_estimated_and_shares_no_prefixes();
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
  for (const char* const family : kFamilies) {
    for (const std::string& isa : kernels::cpu_isas()) {
      for (const engine::PolicyDescriptor* const policy : engine::policy_table()) {
        const std::string name(policy->name);
        // 128 blocks hold all at once; 16 hold one of the longest, so that some are preempted and computed again.
        for (const int n_blocks : name == "paged" ? std::vector{128, 16} : std::vector{128}) {
          QTest::addRow("%s, %s, %s, %d blocks", family, isa.c_str(), name.c_str(), n_blocks)
              << family << QString::fromStdString(isa) << QString::fromStdString(name) << n_blocks;
        }
      }
    }
  }
}

/// Twice, so that the second time sequences get slots that others have used. Equal prompts share nothing.
void RecurrentCacheTest::answers_are_those_of_one_sequence_alone() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  QFETCH(QString, policy);
  QFETCH(int, n_blocks);
  const std::string name = family.toStdString();
  const int vocab = vocab_of(name);
  std::vector<engine::GenerateRequest> requests;
  for (const int n_prompt : {5, 12, 13, 1, 30, 41, 41}) {
    requests.push_back(request_of(static_cast<std::uint64_t>(n_prompt), n_prompt, kAnswer, vocab));
  }
  const auto engine = engine_of(name, isa.toStdString(), policy.toStdString(), n_blocks);
  RunnerDriver alone(family_path(name), {.isa = isa.toStdString()});
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<engine::RequestHandlePtr> handles;
    for (const engine::GenerateRequest& request : requests) handles.push_back(*engine->submit(request));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Answer answer = collect(*handles[i]);
      QCOMPARE(answer.ids(), alone.greedy(requests[i].prompt_token_ids, kAnswer));
      QCOMPARE(answer.all.usage.n_cached_tokens, 0);
    }
    QCOMPARE(engine->snapshot()->n_blocks_used, 0);
  }
  // When requests arrive decides how many are preempted: of all instruction sets some see it.
  const std::int64_t n_preemptions = engine->snapshot()->counters.n_preemptions;
  if (n_blocks != 16) QCOMPARE(n_preemptions, 0);
  n_preemptions_ += n_preemptions;
}

void RecurrentCacheTest::cancelled_requests_leave_no_trace() {
  const std::string name = kFamilies.front();
  const int vocab = vocab_of(name);
  const auto engine = engine_of(name, kernels::cpu_isas().back(), "paged", 32);
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
  QCOMPARE(engine->snapshot()->n_blocks_used, 0);
}

void RecurrentCacheTest::a_load_takes_what_was_estimated_and_shares_no_prefixes() {
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
    QVERIFY(!model.options.enable_prefix_caching);
    QVERIFY(std::any_of(model.info.warnings.begin(), model.info.warnings.end(), [](const std::string& warning) {
      return warning.find("prefix caching is off for this model: its recurrent layers") != std::string::npos;
    }));
    const auto prompt = random_prompt(3, 40, 90);
    for (int pass = 0; pass < 2; ++pass) {
      QCOMPARE(ask(**engine, greedy_request(std::vector(prompt), 5)).all.usage.n_cached_tokens, 0);
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
  QCOMPARE(kv_bytes[1] - kv_bytes[0], 3 * state);
  QCOMPARE(kv_bytes[0], blocks + 3 * state);
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
