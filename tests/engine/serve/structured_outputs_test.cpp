// SPDX-License-Identifier: Apache-2.0
// Constrained answers of an engine: they follow their constraint, end where it ends, and cost other requests nothing.
#include <QObject>
#include <QRegularExpression>
#include <QtTest>

#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace structured_outputs_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

HarnessOptions wide() {
  HarnessOptions options;
  options.vocab_size = 128;
  options.n_blocks = 256;
  return options;
}

GenerateRequest constrained(const std::string& constraint, std::uint64_t seed, std::int64_t max_tokens = 100) {
  GenerateRequest request = greedy_request(random_prompt(seed, 6), max_tokens);
  request.sampling.structured_outputs = constraint;
  request.sampling.temperature = 1;
  request.sampling.seed = seed;
  return request;
}

bool matches(const std::string& text, const char* expression) {
  return QRegularExpression(QRegularExpression::anchoredPattern(expression)).match(QString::fromStdString(text)).hasMatch();
}

}  // namespace

class StructuredOutputsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void answers_follow_the_constraint();
  void json_parses();
  void an_answer_is_the_same_alone_and_among_others();
  void a_free_answer_is_what_it_was();
  void the_end_is_forced_whatever_the_parameters_say();
  void a_length_cuts_the_beginning_of_a_valid_text();
  void log_probabilities_are_those_of_the_free_distribution();
  void reasoning_is_free();
  void a_text_that_no_token_spells_ends_the_request_alone();
  void a_bad_constraint_is_refused_at_once();
  void the_reason_is_among_the_events();
};

void StructuredOutputsTest::answers_follow_the_constraint() {
  Harness harness(wide());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Answer answer = ask(*harness.engine, constrained(R"({"regex": "[a-c]{2,5}-(x|yy){1,9}"})", seed));
    QCOMPARE(answer.all.finish_reason, FinishReason::stop);
    QCOMPARE(answer.all.stop_cause, StopCause::eos);
    QVERIFY2(matches(answer.all.text, "[a-c]{2,5}-(x|yy){1,9}"), answer.all.text.c_str());
  }
}

void StructuredOutputsTest::json_parses() {
  Harness harness(wide());
  int n_whole = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Answer answer =
        ask(*harness.engine, constrained(R"({"json": {"properties": {"a": {"type": "integer"}, "b": {"type": "array",
        "items": {"type": "string", "maxLength": 3}, "maxItems": 2}}, "required": ["a"]}})",
                                         seed));
    if (answer.all.finish_reason != FinishReason::stop) continue;
    ++n_whole;
    const auto json = parse_json(answer.all.text, "answer");
    QVERIFY2(json && json->is_object() && (*json)["a"].is_number_integer(), answer.all.text.c_str());
  }
  QVERIFY(n_whole > 5);
}

void StructuredOutputsTest::an_answer_is_the_same_alone_and_among_others() {
  const std::string constraint = R"({"json": {"type": "array", "items": {"enum": ["a", "bc", 1]}, "maxItems": 8}})";
  std::vector<std::vector<std::int32_t>> alone;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    alone.push_back(ask(*Harness(wide()).engine, constrained(constraint, seed)).ids());
  Harness harness(wide());
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    handles.push_back(harness.engine->submit(constrained(constraint, seed)).value());
    handles.push_back(harness.engine->submit(greedy_request(random_prompt(100 + seed, 9), 20)).value());
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const Answer answer = collect(*handles[i]);
    if (i % 2 == 0) QCOMPARE(answer.ids(), alone[i / 2]);
  }
}

void StructuredOutputsTest::a_free_answer_is_what_it_was() {
  Harness harness(wide());
  const auto other = harness.engine->submit(constrained(R"({"regex": "a*"})", 1)).value();
  const auto prompt = random_prompt(5, 8);
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 40)).ids(), harness.expected(prompt, 40));
  collect(*other);
}

void StructuredOutputsTest::the_end_is_forced_whatever_the_parameters_say() {
  Harness harness(wide());
  GenerateRequest request = constrained(R"({"choice": ["abc"]})", 1);
  request.sampling.ignore_eos = true;
  request.sampling.min_tokens = 50;
  request.sampling.logit_bias = {{FakeTokenizer::kEos, -100.0F}, {FakeTokenizer::kA + 25, 100.0F}};
  const Answer answer = ask(*harness.engine, std::move(request));
  QCOMPARE(answer.all.text, std::string("abc"));
  QCOMPARE(answer.all.finish_reason, FinishReason::stop);
  QCOMPARE(answer.ids().back(), FakeTokenizer::kEos);
}

void StructuredOutputsTest::a_length_cuts_the_beginning_of_a_valid_text() {
  Harness harness(wide());
  const Answer answer = ask(*harness.engine, constrained(R"({"regex": "(ab){50}"})", 2, 7));
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
  QCOMPARE(answer.all.text, std::string("abababa"));
}

void StructuredOutputsTest::log_probabilities_are_those_of_the_free_distribution() {
  Harness harness(wide());
  GenerateRequest request = constrained(R"({"choice": ["q"]})", 3);
  request.sampling.logprobs = 3;
  const Answer answer = ask(*harness.engine, std::move(request));
  QCOMPARE(answer.all.text, std::string("q"));
  QVERIFY(answer.all.chosen_logprobs.front().logprob < 0 && answer.all.chosen_logprobs.front().rank > 1);
}

/// The fake vocabulary has no control token of a reasoning's end, so its marker is spelled.
void StructuredOutputsTest::reasoning_is_free() {
  Harness harness(wide());
  GenerateRequest request = constrained(R"({"choice": ["abc"]})", 4, 60);
  AnswerReading reading;
  reading.formats.reasoning = "deepseek_r1";
  reading.prompt = "<think>\n";
  request.reading = std::make_shared<const AnswerReading>(reading);
  request.sampling.temperature = 0;
  const Answer inside = ask(*harness.engine, request);
  QVERIFY(inside.all.text != "abc");  // nothing ends the reasoning, so nothing is constrained
  reading.prompt = "<think>\n\n</think>\n\n";
  request.reading = std::make_shared<const AnswerReading>(reading);
  QCOMPARE(ask(*harness.engine, request).all.text, std::string("abc"));
}

void StructuredOutputsTest::a_text_that_no_token_spells_ends_the_request_alone() {
  Harness harness(wide());
  const Answer answer = ask(*harness.engine, constrained(R"({"choice": ["a\u65e5"]})", 5));
  QCOMPARE(answer.all.finish_reason, FinishReason::error);
  QCOMPARE(answer.all.error->code, ErrorCode::invalid_argument);
  VERIFY_HAS(answer.all.error->message, "vocabulary cannot spell");
  const auto prompt = random_prompt(5, 8);
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 10)).ids(), harness.expected(prompt, 10));
}

void StructuredOutputsTest::a_bad_constraint_is_refused_at_once() {
  Harness harness(wide());
  const auto refused = harness.engine->submit(constrained(R"({"regex": "a("})", 1));
  QVERIFY(!refused);
  QCOMPARE(refused.error().where, std::string("structured_outputs.regex"));
  QCOMPARE(harness.engine->snapshot()->counters.n_prompt_tokens, std::uint64_t{0});
}

void StructuredOutputsTest::the_reason_is_among_the_events() {
  Harness harness(wide());
  for (const char* sentence : {"compiled in", "already compiled"}) {
    std::uint64_t cursor = 0;
    harness.engine->events_since(cursor);
    ask(*harness.engine, constrained(R"({"regex": "ab"})", 1));
    int n_constrained = 0;
    for (const SchedulerEvent& event : harness.engine->events_since(cursor)) {
      if (event.kind != SchedulerEventKind::constrained) continue;
      ++n_constrained;
      QCOMPARE(word_of(event.kind), std::string("Constrained"));
      VERIFY_HAS(sentence_of(event), "The answer follows a regular expression: ");
      VERIFY_HAS(sentence_of(event), sentence);
    }
    QCOMPARE(n_constrained, 1);
  }
}

LATHE_TEST(StructuredOutputsTest)

}  // namespace structured_outputs_test
#include "structured_outputs_test.moc"
