// SPDX-License-Identifier: Apache-2.0
// How answers end: eos, stop ids, stop strings, lengths; and the log probabilities on the way.
#include <QObject>
#include <QtTest>

#include <cmath>

#include "engine/base/utf8.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/test_class.h"

namespace engine_finish_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

std::shared_ptr<FakeScript> with_eos(int period) {
  auto script = std::make_shared<FakeScript>();
  script->eos_period = period;
  return script;
}

/// The text of the answer without its special tokens; half characters become U+FFFD.
std::string text_of(const Harness& harness, const std::vector<std::int32_t>& ids) {
  return repaired_utf8(harness.engine->tokenizer().decode(ids, true));
}

/// Three ASCII characters from the middle of a text.
std::string part_of(const std::string& text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  std::size_t begin = text.size() / 2;
  while (!is_ascii(text[begin]) || !is_ascii(text[begin + 1]) || !is_ascii(text[begin + 2])) ++begin;
  return text.substr(begin, 3);
}

double log_sum(const std::vector<float>& logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  return std::log(sum);
}

}  // namespace

class EngineFinishTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void eos_ends_the_answer_and_is_its_last_token();
  void ignore_eos_goes_on();
  void min_tokens_holds_eos_back();
  void a_stop_id_ends_the_answer_and_is_named();
  void a_stop_string_is_cut_out();
  void a_stop_string_is_kept_when_asked_for();
  void a_stop_string_before_min_tokens_does_not_end();
  void max_tokens_zero_fills_the_context();
  void the_pool_bounds_the_context();
  void text_is_whole_characters();
  void chosen_logprobs_and_alternatives_come_for_each_token();
  void logprobs_zero_gives_the_chosen_token_alone();
  void offsets_are_those_of_the_text();
  void prompt_logprobs_are_those_of_the_prompt_data();
  void prompt_logprobs_are_those_of_the_prompt();
  void prompt_logprobs_survive_preemption();
};

void EngineFinishTest::eos_ends_the_answer_and_is_its_last_token() {
  Harness harness({}, with_eos(10));
  const auto prompt = random_prompt(1, 8);
  const auto expected = harness.expected(prompt, 150);
  QCOMPARE(expected.back(), FakeTokenizer::kEos);
  const Answer answer = ask(*harness.engine, greedy_request(prompt, 150));
  QCOMPARE(answer.ids(), expected);
  QCOMPARE(answer.all.finish_reason, FinishReason::stop);
  QCOMPARE(answer.all.stop_reason, std::string("eos"));
  QCOMPARE(answer.all.text, text_of(harness, expected));
}

void EngineFinishTest::ignore_eos_goes_on() {
  Harness harness({}, with_eos(10));
  GenerateRequest request = greedy_request(random_prompt(1, 8), 100);
  request.sampling.ignore_eos = true;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.ids().size(), 100U);
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
}

void EngineFinishTest::min_tokens_holds_eos_back() {
  Harness harness({}, with_eos(3));
  GenerateRequest request = greedy_request(random_prompt(1, 8), 100);
  request.sampling.min_tokens = 50;
  const Answer answer = ask(*harness.engine, request);
  QVERIFY(answer.ids().size() >= 50);
  for (std::size_t i = 0; i + 1 < answer.ids().size(); ++i) QVERIFY(answer.ids()[i] != FakeTokenizer::kEos);
}

void EngineFinishTest::a_stop_id_ends_the_answer_and_is_named() {
  Harness harness;
  const auto prompt = random_prompt(2, 8);
  const auto expected = harness.expected(prompt, 30);
  GenerateRequest request = greedy_request(prompt, 30);
  request.sampling.stop_token_ids = {expected[12]};
  const auto n = static_cast<std::size_t>(std::find(expected.begin(), expected.end(), expected[12]) - expected.begin()) + 1;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.ids().size(), n);
  QCOMPARE(answer.all.finish_reason, FinishReason::stop);
  QCOMPARE(answer.all.stop_reason, std::to_string(expected[12]));
  QCOMPARE(answer.all.text, text_of(harness, {expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(n) - 1}));
}

void EngineFinishTest::a_stop_string_is_cut_out() {
  Harness harness;
  const auto prompt = random_prompt(3, 8);
  const std::string whole = text_of(harness, harness.expected(prompt, 40));
  GenerateRequest request = greedy_request(prompt, 40);
  request.sampling.stop = {part_of(whole)};
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.all.text, whole.substr(0, whole.find(request.sampling.stop[0])));
  QCOMPARE(answer.all.finish_reason, FinishReason::stop);
  QCOMPARE(answer.all.stop_reason, request.sampling.stop[0]);
}

void EngineFinishTest::a_stop_string_is_kept_when_asked_for() {
  Harness harness;
  const auto prompt = random_prompt(3, 8);
  const std::string whole = text_of(harness, harness.expected(prompt, 40));
  GenerateRequest request = greedy_request(prompt, 40);
  request.sampling.stop = {part_of(whole)};
  request.sampling.include_stop_str_in_output = true;
  QCOMPARE(ask(*harness.engine, request).all.text, whole.substr(0, whole.find(request.sampling.stop[0]) + 3));
}

void EngineFinishTest::a_stop_string_before_min_tokens_does_not_end() {
  Harness harness;
  const auto prompt = random_prompt(3, 8);
  const auto expected = harness.expected(prompt, 40);
  GenerateRequest request = greedy_request(prompt, 40);
  request.sampling.stop = {text_of(harness, {expected[4]}) + text_of(harness, {expected[5]})};
  QVERIFY(ask(*harness.engine, request).ids().size() < 10);
  request.sampling.min_tokens = 30;
  QVERIFY(ask(*harness.engine, request).ids().size() > 30);
}

void EngineFinishTest::max_tokens_zero_fills_the_context() {
  Harness harness;
  const Answer answer = ask(*harness.engine, greedy_request(random_prompt(4, 8), 0));
  QCOMPARE(answer.ids().size(), 192U);
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
}

void EngineFinishTest::the_pool_bounds_the_context() {
  HarnessOptions options;
  options.n_blocks = 10;
  Harness harness(options);
  const Answer answer = ask(*harness.engine, greedy_request(random_prompt(4, 8), 0));
  QCOMPARE(answer.ids(), harness.expected(random_prompt(4, 8), 32));
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
}

void EngineFinishTest::text_is_whole_characters() {
  Harness harness;
  GenerateRequest request = greedy_request(random_prompt(5, 8), 60);
  for (const std::int32_t id : {FakeTokenizer::kHalfOfE, FakeTokenizer::kOtherHalfOfE}) {
    request.sampling.logit_bias.emplace_back(id, 6.0F);
  }
  auto handle = *harness.engine->submit(request);
  const Answer answer = collect(*handle);
  QVERIFY(std::find(answer.ids().begin(), answer.ids().end(), FakeTokenizer::kHalfOfE) != answer.ids().end());
  const QString text = QString::fromStdString(answer.all.text);
  QCOMPARE(text.toStdString(), answer.all.text);  // it is valid UTF-8: nothing was replaced on the way
}

void EngineFinishTest::chosen_logprobs_and_alternatives_come_for_each_token() {
  Harness harness;
  const auto prompt = random_prompt(6, 8);
  GenerateRequest request = greedy_request(prompt, 12);
  request.sampling.logprobs = 3;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.all.logprobs.size(), 12U);
  QCOMPARE(answer.all.chosen_logprobs.size(), 12U);
  std::vector<std::int32_t> context = prompt;
  std::vector<float> logits(64);
  for (std::size_t i = 0; i < 12; ++i) {
    fake_logits(context, *harness.script, logits);
    const std::int32_t id = answer.ids()[i];
    const double expected = logits[static_cast<std::size_t>(id)] - log_sum(logits);
    QCOMPARE(answer.all.chosen_logprobs[i].id, id);
    QVERIFY(std::abs(answer.all.chosen_logprobs[i].logprob - expected) < 1e-4);
    QCOMPARE(answer.all.logprobs[i].size(), 3U);
    QCOMPARE(answer.all.logprobs[i][0].id, id);
    QVERIFY(answer.all.logprobs[i][0].logprob >= answer.all.logprobs[i][1].logprob);
    context.push_back(id);
  }
}

/// Each token of an answer begins where the text of the ones before ends, whatever a stop string holds back.
void EngineFinishTest::offsets_are_those_of_the_text() {
  Harness harness;
  GenerateRequest request = greedy_request(random_prompt(6, 8), 12);
  request.sampling.logprobs = 0;
  for (const bool stops : {false, true}) {
    if (stops) request.sampling.stop = {"never to be seen"};
    const Answer answer = ask(*harness.engine, request);
    QCOMPARE(answer.all.text_offsets.size(), answer.ids().size());
    std::vector<std::int32_t> before;
    for (std::size_t i = 0; i < answer.ids().size(); ++i) {
      const std::string text = harness.engine->tokenizer().decode(before, true);
      QCOMPARE(answer.all.text_offsets[i], static_cast<std::int64_t>(QString::fromStdString(text).toUcs4().size()));
      before.push_back(answer.ids()[i]);
    }
  }
  request.sampling.logprobs.reset();
  QVERIFY(ask(*harness.engine, request).all.text_offsets.empty());
}

void EngineFinishTest::logprobs_zero_gives_the_chosen_token_alone() {
  Harness harness;
  GenerateRequest request = greedy_request(random_prompt(6, 8), 3);
  request.sampling.logprobs = 0;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.all.chosen_logprobs.size(), 3U);
  for (const LogprobList& list : answer.all.logprobs) QVERIFY(list.empty());
}

void EngineFinishTest::prompt_logprobs_are_those_of_the_prompt_data() {
  QTest::addColumn<int>("n_rows");
  QTest::addColumn<int>("n_logit_rows");
  QTest::newRow("in one step") << 64 << 64;
  QTest::newRow("in chunks") << 16 << 64;
  QTest::newRow("few rows with logits") << 64 << 16;
}

void EngineFinishTest::prompt_logprobs_are_those_of_the_prompt() {
  QFETCH(int, n_rows);
  QFETCH(int, n_logit_rows);
  HarnessOptions options;
  options.engine.max_num_batched_tokens = n_rows;
  options.max_logit_rows = n_logit_rows;
  Harness harness(options);
  const auto prompt = random_prompt(7, 40);
  ask(*harness.engine, greedy_request(prompt, 2));  // the cache knows it, and must not be asked
  GenerateRequest request = greedy_request(prompt, 2);
  request.sampling.prompt_logprobs = 2;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.all.usage.n_cached_tokens, 0);
  QCOMPARE(answer.all.prompt_logprobs.size(), 40U);
  QVERIFY(answer.all.prompt_logprobs[0].empty());
  std::vector<float> logits(64);
  for (std::size_t i = 1; i < 40; ++i) {
    fake_logits({prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(i)}, *harness.script, logits);
    const LogprobList& list = answer.all.prompt_logprobs[i];
    QCOMPARE(list[0].id, prompt[i]);
    QVERIFY(std::abs(list[0].logprob - (logits[static_cast<std::size_t>(prompt[i])] - log_sum(logits))) < 1e-4);
    QCOMPARE(list.size(), 3U);
    QVERIFY(list[1].logprob >= list[2].logprob);
  }
  QCOMPARE(answer.ids(), harness.expected(prompt, 2));
}

void EngineFinishTest::prompt_logprobs_survive_preemption() {
  HarnessOptions options;
  options.engine.max_num_batched_tokens = 16;
  options.n_blocks = 16;
  Harness harness(options);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 6; ++i) {
    GenerateRequest request = greedy_request(random_prompt(i, 14), 30);
    request.sampling.prompt_logprobs = 0;
    handles.push_back(*harness.engine->submit(request));
  }
  std::int64_t n_preemptions = 0;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Answer answer = collect(*handles[i]);
    n_preemptions += answer.all.timings.n_preemptions;
    QCOMPARE(answer.ids(), harness.expected(random_prompt(i, 14), 30));
    QCOMPARE(answer.all.prompt_logprobs.size(), 14U);
    for (std::size_t token = 1; token < 14; ++token) QCOMPARE(answer.all.prompt_logprobs[token].size(), 1U);
  }
  QVERIFY(n_preemptions > 0);
  QCOMPARE(harness.script->faults(), std::string());
}

LATHE_TEST(EngineFinishTest)

}  // namespace engine_finish_test
#include "engine_finish_test.moc"
