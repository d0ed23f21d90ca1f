// SPDX-License-Identifier: Apache-2.0
// Tests of the check at submit: refusals have numbers in the message, and an accepted request can never wait forever.
#include <QObject>
#include <QtTest>

#include "engine/serve/request_check.h"
#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace request_check_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

RequestLimits limits() {
  return {.vocab_size = 64, .max_model_len = 100, .n_blocks = 50, .block_size = 4, .max_num_batched_tokens = 32};
}

/// The error's message; empty when the request is fine.
QString refusal(const GenerateRequest& request, const RequestLimits& of = limits()) {
  const auto checked = check_request(request, of);
  return checked ? QString() : QString::fromStdString(checked.error().message);
}

QString refusal(int n_prompt, const RequestLimits& of = limits()) {
  return refusal(greedy_request(random_prompt(1, n_prompt), 5), of);
}

}  // namespace

class RequestCheckTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void an_ordinary_request_passes();
  void S9_a_prompt_one_short_of_the_context_passes();
  void S9_a_prompt_as_long_as_the_context_is_refused();
  void S9_ten_times_the_context_is_refused();
  void S9_a_prompt_larger_than_the_pool_is_refused();
  void S9_max_tokens_beyond_the_context_are_accepted_and_end_there();
  void S9_min_tokens_beyond_the_context_are_refused();
  void S9_a_prompt_larger_than_a_step_is_refused_without_chunking();
  void S8_an_empty_prompt_is_refused();
  void S8_ids_outside_the_vocabulary_are_refused_data();
  void S8_ids_outside_the_vocabulary_are_refused();
  void S5_sampling_parameters_are_checked();
  void a_huge_salt_is_refused();
};

void RequestCheckTest::an_ordinary_request_passes() { QCOMPARE(refusal(10), QString()); }

void RequestCheckTest::S9_a_prompt_one_short_of_the_context_passes() { QCOMPARE(refusal(99), QString()); }

void RequestCheckTest::S9_a_prompt_as_long_as_the_context_is_refused() {
  const QString message = refusal(100);
  QVERIFY2(message.contains("The prompt has 100 tokens, but the context holds 100"), qPrintable(message));
  QVERIFY2(message.contains("by 1 "), qPrintable(message));
}

void RequestCheckTest::S9_ten_times_the_context_is_refused() { QVERIFY(refusal(1000).contains("1000")); }

void RequestCheckTest::S9_a_prompt_larger_than_the_pool_is_refused() {
  RequestLimits small = limits();
  small.n_blocks = 10;
  QCOMPARE(refusal(39, small), QString());
  const QString message = refusal(40, small);
  QVERIFY2(message.contains("40 tokens") && message.contains("11 KV blocks") && message.contains("10 blocks of 4"),
           qPrintable(message));
}

void RequestCheckTest::S9_max_tokens_beyond_the_context_are_accepted_and_end_there() {
  QCOMPARE(refusal(greedy_request(random_prompt(1, 90), 1 << 30)), QString());
  HarnessOptions options;
  options.max_model_len = 30;
  Harness harness(options);
  const Answer answer = ask(*harness.engine, greedy_request(random_prompt(1, 20), 1000));
  QCOMPARE(answer.ids().size(), 10U);
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
}

void RequestCheckTest::S9_min_tokens_beyond_the_context_are_refused() {
  GenerateRequest request = greedy_request(random_prompt(1, 90), 1 << 30);
  request.sampling.min_tokens = 10;
  QCOMPARE(refusal(request), QString());
  request.sampling.min_tokens = 11;
  const auto refused = check_request(request, limits());
  QVERIFY(!refused);
  QCOMPARE(refused.error().where, std::string("min_tokens"));
  const QString message = QString::fromStdString(refused.error().message);
  QVERIFY2(message.contains("at most 10, got 11") && message.contains("100 tokens, and 90 of them"), qPrintable(message));
}

void RequestCheckTest::S9_a_prompt_larger_than_a_step_is_refused_without_chunking() {
  RequestLimits whole = limits();
  whole.chunked_prefill = false;
  QCOMPARE(refusal(32, whole), QString());
  const QString message = refusal(33, whole);
  QVERIFY2(message.contains("33 tokens") && message.contains("max_num_batched_tokens = 32"), qPrintable(message));
}

void RequestCheckTest::S8_an_empty_prompt_is_refused() { QVERIFY(refusal(0).contains("empty")); }

void RequestCheckTest::S8_ids_outside_the_vocabulary_are_refused_data() {
  QTest::addColumn<int>("id");
  for (const int id : {-1, 64, 1 << 30, -(1 << 30)}) QTest::addRow("%d", id) << id;
}

void RequestCheckTest::S8_ids_outside_the_vocabulary_are_refused() {
  QFETCH(int, id);
  const auto checked = check_request(greedy_request({5, 6, id}, 5), limits());
  QVERIFY(!checked);
  QCOMPARE(checked.error().code, ErrorCode::invalid_argument);
  QCOMPARE(checked.error().where, std::string("prompt[2]"));
  QVERIFY(QString::fromStdString(checked.error().message).contains(QString::number(id)));
}

void RequestCheckTest::S5_sampling_parameters_are_checked() {
  GenerateRequest request = greedy_request(random_prompt(1, 5), 5);
  request.sampling.top_p = 2;
  QVERIFY(!refusal(request).isEmpty());
}

void RequestCheckTest::a_huge_salt_is_refused() {
  GenerateRequest request = greedy_request(random_prompt(1, 5), 5);
  request.cache_salt.assign(257, 'x');
  QVERIFY(refusal(request).contains("257"));
}

LATHE_TEST(RequestCheckTest)

}  // namespace request_check_test
#include "request_check_test.moc"
