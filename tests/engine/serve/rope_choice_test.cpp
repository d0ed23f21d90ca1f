// SPDX-License-Identifier: Apache-2.0
// Requests that RoPE turns otherwise, side by side: each is answered as it is alone, and no cached block serves two choices.
#include <QTest>

#include "engine/schedule/policies.h"
#include "engine/serve/engine_loop.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace rope_choice_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kVocab = 96;
constexpr int kOldContext = 40;  // tests/fixtures/families: both models were made for so many tokens
constexpr std::int64_t kContext = 70;
constexpr int kBlockSize = 16;

std::string path_of(const QString& family) { return source_path("tests/fixtures/families/" + family.toStdString()); }

std::unique_ptr<engine::Engine> engine_of(const QString& family, std::string_view policy) {
  RunnerDriver driver(path_of(family),
                      {.isa = "scalar", .block_size = kBlockSize, .n_blocks = 4, .max_model_len = kContext});
  engine::EngineParts parts;
  parts.model.options.policy = policy;
  parts.model.options.enable_prefix_caching = true;
  parts.model.options.max_num_seqs = 8;
  parts.model.options.max_num_batched_tokens = 32;
  parts.model.n_threads = 2;
  parts.tokenizer = std::make_unique<FakeTokenizer>(kVocab);
  parts.runner = driver.take_runner();
  return engine::make_engine_loop(std::move(parts));
}

/// Some that fit the old context to the last token, some that do not, and some whose answer would cross its end.
std::vector<engine::GenerateRequest> requests() {
  std::vector<engine::GenerateRequest> all;
  for (const auto& [n_prompt, n_answer] : {std::pair(7, 10), std::pair(50, 12), std::pair(30, 10), std::pair(30, 11),
                                           std::pair(12, 40), std::pair(25, 15), std::pair(60, 10)}) {
    all.push_back(greedy_request(random_prompt(static_cast<std::uint64_t>(all.size()), n_prompt, kVocab), n_answer));
    all.back().sampling.ignore_eos = true;
  }
  return all;
}

void add_families() {
  QTest::addColumn<QString>("family");
  for (const char* const family : {"phi3-longrope", "llama-dynamic"}) QTest::newRow(family) << family;
}

}  // namespace

class RopeChoiceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_is_answered_as_alone_data();
  void each_is_answered_as_alone();
  void cached_blocks_serve_one_choice_data() { add_families(); }
  void cached_blocks_serve_one_choice();
  void a_salt_cannot_stand_for_a_choice_data() { add_families(); }
  void a_salt_cannot_stand_for_a_choice();
};

void RopeChoiceTest::each_is_answered_as_alone_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("policy");
  for (const char* const family : {"phi3-longrope", "llama-dynamic"}) {
    for (const engine::PolicyDescriptor* const policy : engine::policy_table()) {
      const std::string name(policy->name);
      QTest::addRow("%s, %s", family, name.c_str()) << family << QString::fromStdString(name);
    }
  }
}

/// Alone: a runner loaded for no longer a context than the request takes.
void RopeChoiceTest::each_is_answered_as_alone() {
  QFETCH(QString, family);
  QFETCH(QString, policy);
  const auto engine = engine_of(family, policy.toStdString());
  std::vector<engine::RequestHandlePtr> handles;
  for (const engine::GenerateRequest& request : requests()) {
    auto handle = engine->submit(request);
    QVERIFY(handle.has_value());
    handles.push_back(std::move(*handle));
  }
  const auto all = requests();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto n_answer = static_cast<int>(all[i].sampling.max_tokens);
    const bool is_short = std::ssize(all[i].prompt_token_ids) + n_answer <= kOldContext;
    RunnerDriver alone(path_of(family), {.isa = "scalar", .max_model_len = is_short ? kOldContext : kContext});
    QCOMPARE(collect(*handles[i]).ids(), alone.greedy(all[i].prompt_token_ids, n_answer));
  }
  QCOMPARE(engine->snapshot()->n_blocks_used, 0);
}

/// The same prompt with a short answer, then with a long one, then as at first.
void RopeChoiceTest::cached_blocks_serve_one_choice() {
  QFETCH(QString, family);
  const auto engine = engine_of(family, "paged");
  const auto prompt = random_prompt(5, 33, kVocab);
  const auto n_cached = [&](std::int64_t n_answer) {
    engine::GenerateRequest request = greedy_request(prompt, n_answer);
    request.sampling.ignore_eos = true;
    return ask(*engine, request).all.usage.n_cached_tokens;
  };
  QCOMPARE(n_cached(7), 0);
  QCOMPARE(n_cached(8), 0);
  QCOMPARE(n_cached(6), 2 * kBlockSize);
  QCOMPARE(n_cached(30), 2 * kBlockSize);
}

void RopeChoiceTest::a_salt_cannot_stand_for_a_choice() {
  QFETCH(QString, family);
  const auto engine = engine_of(family, "paged");
  const auto ask_with = [&](std::int64_t n_answer, std::string salt) {
    engine::GenerateRequest request = greedy_request(random_prompt(5, 33, kVocab), n_answer);
    request.sampling.ignore_eos = true;
    request.cache_salt = std::move(salt);
    return ask(*engine, request).all.usage.n_cached_tokens;
  };
  QCOMPARE(ask_with(30, ""), 0);
  QCOMPARE(ask_with(7, std::string(1, '\1')), 0);
  QCOMPARE(ask_with(7, ""), 0);
  QCOMPARE(ask_with(7, std::string(1, '\1')), 2 * kBlockSize);
}

LATHE_TEST(RopeChoiceTest)

}  // namespace rope_choice_test
#include "rope_choice_test.moc"
