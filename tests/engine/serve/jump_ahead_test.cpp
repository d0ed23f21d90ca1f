// SPDX-License-Identifier: Apache-2.0
// Jump-ahead: forced tokens come without a step for each, and answers are the same as without it, to the last token.
#include <QObject>
#include <QtTest>

#include <atomic>
#include <future>
#include <semaphore>

#include "engine/schedule/policies.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace jump_ahead_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

constexpr const char* kKeys = R"({"whitespace": "none", "json": {"properties": {"identifier": {"type": "integer"},
    "is_enabled": {"type": "boolean"}, "list": {"type": "array", "items": {"enum": ["abc", "abd"]}, "maxItems": 3}},
    "required": ["identifier", "is_enabled", "list"]}})";
constexpr const char* kText = R"({"regex": "abcdef(x|yy){1,3}ghijkl[0-9]mnop"})";

HarnessOptions roomy() {
  HarnessOptions options;
  options.vocab_size = 128;
  options.n_blocks = 512;
  return options;
}

/// Six sequences grow in blocks for two, and a step has a few rows.
HarnessOptions tight() {
  HarnessOptions options = roomy();
  options.n_blocks = 40;
  options.engine.max_num_seqs = 6;
  options.engine.max_num_batched_tokens = 12;
  return options;
}

std::string without_jumps(const std::string& constraint) { return R"({"jump_ahead": false, )" + constraint.substr(1); }

GenerateRequest request_of(const std::string& constraint, std::uint64_t seed, std::int64_t max_tokens = 120) {
  GenerateRequest request = greedy_request(random_prompt(seed, 6), max_tokens);
  request.sampling.structured_outputs = constraint;
  request.sampling.temperature = 1;
  request.sampling.seed = seed;
  return request;
}

struct Case {
  const char* name;
  const char* constraint;
  void (*change)(SamplingParams& params) = nullptr;
  bool has_jumps = true;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"keys", kKeys},
      {"keys with blanks", R"({"json": {"properties": {"identifier": {"type": "integer"}, "is_enabled": {"type": "boolean"}},
          "required": ["identifier", "is_enabled"]}})"},
      {"keys, one blank", R"({"whitespace": "fixed", "json": {"properties": {"name": {"type": "string", "maxLength": 3}},
          "required": ["name"]}})"},
      {"text", kText},
      {"choice", R"({"choice": ["abcdefg", "abxyzw"]})"},
      {"one choice", R"({"choice": ["abcdefg"]})"},
      {"grammar", R"({"grammar": "root ::= \"begin\" item{1,3} \"end\"\nitem ::= \"(\" root \")\" | \"atom\""})"},
      {"control tokens", R"({"structural_tag": {"format": {"type": "sequence", "elements": [
          {"type": "const_string", "value": "abcd"}, {"type": "token", "token": 1}, {"type": "const_string", "value": "cd"},
          {"type": "or", "elements": [{"type": "token", "token": 1}, {"type": "const_string", "value": "efg"}]}]}}})"},
      {"a tag", R"({"structural_tag": {"format": {"type": "tag", "begin": "<f=", "end": ">!done",
          "content": {"type": "json_schema", "json_schema": {"type": "integer"}}}}})"},
      {"no stretch", R"({"regex": "[a-z]*"})", nullptr, false},
      {"no token spells it", R"({"choice": ["ab日c"]})", nullptr, false},
      {"length inside", kText, [](SamplingParams& p) { p.max_tokens = 4; }},
      {"length at its end", kText, [](SamplingParams& p) { p.max_tokens = 6; }},
      {"length of one token", kText, [](SamplingParams& p) { p.max_tokens = 1; }, false},
      {"stop string inside", kText, [](SamplingParams& p) { p.stop = {"hij"}; }},
      {"stop string across the sampled token", kText,
       [](SamplingParams& p) {
         p.stop = {"xgh", "ygh"};
       }},
      {"stop string is shown", kText,
       [](SamplingParams& p) {
         p.stop = {"zz", "cd"};
         p.include_stop_str_in_output = true;
       }},
      {"stop string is held back", kText,
       [](SamplingParams& p) {
         p.stop = {"klq", "opq"};
       }},
      {"stop string before min_tokens", kText,
       [](SamplingParams& p) {
         p.stop = {"bc", "hi"};
         p.min_tokens = 5;
       }},
      {"stop token inside", kText, [](SamplingParams& p) { p.stop_token_ids = {FakeTokenizer::kA + 8}; }},
      {"stop token before min_tokens", kText,
       [](SamplingParams& p) {
         p.stop_token_ids = {FakeTokenizer::kA + 2, FakeTokenizer::kA + 13};
         p.min_tokens = 9;
       }},
      {"min_tokens", kText, [](SamplingParams& p) { p.min_tokens = 60; }},
      {"ignore_eos", kText, [](SamplingParams& p) { p.ignore_eos = true; }},
      {"penalties", kText,
       [](SamplingParams& p) {
         p.repetition_penalty = 1.7;
         p.presence_penalty = 1.5;
         p.frequency_penalty = 1;
       }},
      {"biases", kText,
       [](SamplingParams& p) {
         p.logit_bias = {{FakeTokenizer::kA + 1, -100.0F}, {FakeTokenizer::kEos, -100.0F}, {FakeTokenizer::kA + 20, 100.0F}};
       }},
      {"greedy", kText, [](SamplingParams& p) { p.temperature = 0; }},
      {"narrow", kText,
       [](SamplingParams& p) {
         p.top_k = 3;
         p.top_p = 0.8;
         p.min_p = 0.05;
       }},
  };
  return kCases;
}

GenerateRequest request_of(const Case& of, std::uint64_t seed) {
  GenerateRequest request = request_of(of.constraint, seed);
  if (of.change != nullptr) of.change(request.sampling);
  return request;
}

GenerateRequest slow(GenerateRequest request) {
  request.sampling.structured_outputs = without_jumps(request.sampling.structured_outputs);
  return request;
}

/// All that a caller sees but times, on one line.
std::string seen(const Answer& answer) {
  std::string text = answer.all.text + " " + std::string(name_of(answer.all.finish_reason)) + " " + answer.all.stop_reason +
                     " " + std::to_string(answer.all.usage.n_completion_tokens) + ":";
  for (const std::int32_t id : answer.ids()) text += " " + std::to_string(id);
  for (const TextMark& mark : answer.all.marks) text += " @" + std::to_string(mark.at) + "=" + std::to_string(mark.id);
  return answer.all.error ? text + answer.all.error->message : text;
}

/// Submits all requests before the first step ends, so that they run together on any machine.
std::vector<RequestHandlePtr> submit_together(Harness& harness, const std::vector<GenerateRequest>& requests) {
  const auto go = std::make_shared<std::promise<void>>();
  const auto gate = go->get_future().share();
  harness.script->before_run = [gate, observe = harness.script->before_run](const BatchPlan& plan) {
    gate.wait();
    if (observe) observe(plan);
  };
  std::vector<RequestHandlePtr> handles;
  for (const GenerateRequest& request : requests) handles.push_back(harness.engine->submit(request).value());
  go->set_value();
  return handles;
}

std::uint64_t n_jumped(const Harness& harness) { return harness.engine->snapshot()->counters.n_jumped_tokens; }

}  // namespace

class JumpAheadTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void answers_are_the_same_data();
  void answers_are_the_same();
  void answers_are_the_same_among_others_and_after_preemption();
  void a_stretch_costs_one_step();
  void the_end_comes_with_the_last_token();
  void an_answer_with_log_probabilities_does_not_jump();
  void every_policy_gives_the_same_data();
  void every_policy_gives_the_same();
  void stop_strings_of_the_content_hold_inside();
  void a_long_stretch_leaves_others_their_rows();
  void a_cancelled_jump_gives_everything_back();
  void jumps_are_counted_and_explained();
  void the_setting_is_checked();
};

void JumpAheadTest::answers_are_the_same_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
}

void JumpAheadTest::answers_are_the_same() {
  QFETCH(int, index);
  const Case& row = cases()[static_cast<std::size_t>(index)];
  Harness jumping(roomy()), stepping(roomy());
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const GenerateRequest request = request_of(row, seed);
    const Answer on = ask(*jumping.engine, request), off = ask(*stepping.engine, slow(request));
    QCOMPARE(seen(on), seen(off));
  }
  QCOMPARE(n_jumped(jumping) > 0, row.has_jumps);
  QCOMPARE(n_jumped(stepping), std::uint64_t{0});
  const EngineCounters fast = jumping.engine->snapshot()->counters, other = stepping.engine->snapshot()->counters;
  QCOMPARE(fast.n_generation_tokens, other.n_generation_tokens);
  QCOMPARE(fast.n_steps < other.n_steps, row.has_jumps);
  QCOMPARE(jumping.script->faults(), std::string());
}

void JumpAheadTest::answers_are_the_same_among_others_and_after_preemption() {
  Harness alone(roomy()), together(tight());
  std::vector<GenerateRequest> requests;
  for (std::size_t i = 0; i < 4 * cases().size(); ++i) {
    requests.push_back(request_of(cases()[i % cases().size()], i));
    if (i % 3 == 0) requests.push_back(greedy_request(random_prompt(i, 20), 60));
  }
  const std::vector<RequestHandlePtr> handles = submit_together(together, requests);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const bool is_constrained = !requests[i].sampling.structured_outputs.empty();
    const Answer expected = ask(*alone.engine, is_constrained ? slow(requests[i]) : requests[i]);
    QCOMPARE(seen(collect(*handles[i])), seen(expected));
  }
  const auto snapshot = together.engine->snapshot();
  QVERIFY(snapshot->counters.n_preemptions > 0);
  QVERIFY(snapshot->counters.n_jumped_tokens > 0);
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(together.script->faults(), std::string());
}

void JumpAheadTest::a_stretch_costs_one_step() {
  Harness harness(roomy());
  const Answer answer = ask(*harness.engine, request_of(R"({"regex": "[ab]cdefghij[kl]mnopqrst[uv]"})", 1));
  QCOMPARE(answer.all.text.size(), std::size_t{19});
  QCOMPARE(harness.script->n_runs.load(), 3);
  QCOMPARE(n_jumped(harness), std::uint64_t{17});  // and the end token
}

void JumpAheadTest::the_end_comes_with_the_last_token() {
  Harness harness(roomy());
  const Answer answer = ask(*harness.engine, request_of(R"({"choice": ["abcdef"]})", 1));
  QCOMPARE(answer.all.text, std::string("abcdef"));
  QCOMPARE(answer.ids().back(), FakeTokenizer::kEos);
  QCOMPARE(answer.all.stop_cause, StopCause::eos);
  QCOMPARE(harness.script->n_runs.load(), 1);
}

void JumpAheadTest::an_answer_with_log_probabilities_does_not_jump() {
  Harness harness(roomy()), other(roomy());
  GenerateRequest request = request_of(kText, 2);
  const Answer plain = ask(*other.engine, request);
  request.sampling.logprobs = 2;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.ids(), plain.ids());
  QCOMPARE(answer.all.chosen_logprobs.size(), answer.ids().size());
  QCOMPARE(answer.all.text_offsets.size(), answer.ids().size());
  QCOMPARE(n_jumped(harness), std::uint64_t{0});
}

void JumpAheadTest::every_policy_gives_the_same_data() {
  QTest::addColumn<QString>("policy");
  for (const PolicyDescriptor* policy : policy_table()) {
    const auto name = QString::fromStdString(std::string(policy->name));
    QTest::newRow(qPrintable(name)) << name;
  }
}

void JumpAheadTest::every_policy_gives_the_same() {
  QFETCH(QString, policy);
  HarnessOptions options = roomy();
  options.engine.policy = policy.toStdString();
  options.engine.max_num_seqs = 4;
  options.engine.max_batch_delay_ms = 1;
  Harness harness(options), alone(roomy());
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    handles.push_back(harness.engine->submit(request_of(seed % 2 == 0 ? kText : kKeys, seed)).value());
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Answer expected = ask(*alone.engine, slow(request_of(seed % 2 == 0 ? kText : kKeys, seed)));
    QCOMPARE(seen(collect(*handles[seed])), seen(expected));
  }
  QCOMPARE(n_jumped(harness) > 0, !find_policy(policy.toStdString())->is_lockstep);
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
  QCOMPARE(harness.script->faults(), std::string());
}

/// The engine runs a parser over the content, which must read each token's text once.
void JumpAheadTest::stop_strings_of_the_content_hold_inside() {
  Harness harness(roomy()), other(roomy());
  AnswerReading reading;
  reading.formats.tool_calls = "hermes";
  for (const std::int64_t min_tokens : {0, 4, 9}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      GenerateRequest request = request_of(kText, seed);
      request.reading = std::make_shared<const AnswerReading>(reading);
      request.sampling.stop = {"def", "ijk", "nop"};
      request.sampling.min_tokens = min_tokens;
      const Answer on = ask(*harness.engine, request), off = ask(*other.engine, slow(request));
      QCOMPARE(on.all.stop_cause, StopCause::text);
      QCOMPARE(on.all.stop_reason, std::string(min_tokens == 0 ? "def" : "ijk"));
      QCOMPARE(seen(on), seen(off));
    }
  }
  QVERIFY(n_jumped(harness) > 0);
}

/// The others of a step that a long stretch fills get a token each in that step.
void JumpAheadTest::a_long_stretch_leaves_others_their_rows() {
  HarnessOptions options = roomy();
  options.engine.max_num_seqs = 4;
  options.engine.max_num_batched_tokens = 24;
  options.engine.target_itl_ms = 0;  // whatever the machine is doing
  auto script = std::make_shared<FakeScript>();
  std::atomic<int> n_full{0}, n_alone{0};
  script->before_run = [&](const BatchPlan& plan) {
    if (plan.n_rows() < 20) return;
    ++n_full;
    if (plan.n_seqs() == 1) ++n_alone;
  };
  Harness harness(options, script), alone(roomy());
  std::vector<GenerateRequest> requests;
  for (std::uint64_t i = 0; i < 3; ++i) requests.push_back(greedy_request(random_prompt(i, 4), 60));
  requests.push_back(request_of(R"({"regex": "([xy](ab){45}){2}"})", 1, 190));
  const std::vector<RequestHandlePtr> handles = submit_together(harness, requests);
  for (std::size_t i = 0; i < handles.size(); ++i)
    QCOMPARE(seen(collect(*handles[i])), seen(ask(*alone.engine, requests[i])));
  QVERIFY(n_full >= 4);  // 91 rows of the first stretch; the second one ends the answer, so it is not computed
  QVERIFY(n_alone < n_full / 2);
}

void JumpAheadTest::a_cancelled_jump_gives_everything_back() {
  auto script = std::make_shared<FakeScript>();
  std::counting_semaphore<> arrived{0}, go{0};
  std::atomic<bool> is_open{false};
  script->before_run = [&](const BatchPlan&) {
    if (is_open) return;
    arrived.release();
    go.acquire();
  };
  Harness harness(roomy(), script);
  auto handle = harness.engine->submit(request_of(R"({"regex": "([xy]abcdefgh){12}"})", 3)).value();
  arrived.acquire();  // the prompt
  go.release();
  arrived.acquire();  // a token and those forced behind it
  handle->cancel();
  is_open = true;
  go.release();
  const Answer answer = collect(*handle);
  QCOMPARE(answer.all.finish_reason, FinishReason::cancelled);
  QCOMPARE(answer.ids().size(), std::size_t{18});
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
  QCOMPARE(harness.script->faults(), std::string());
}

void JumpAheadTest::jumps_are_counted_and_explained() {
  Harness harness(roomy());
  const Answer answer = ask(*harness.engine, request_of(kText, 1));
  std::uint64_t cursor = 0;
  std::int64_t n_forced = 0;
  int n_chunks = 0;
  for (const SchedulerEvent& event : harness.engine->events_since(cursor)) {
    n_chunks += event.kind == SchedulerEventKind::chunked || event.kind == SchedulerEventKind::paced ? 1 : 0;
    if (event.kind != SchedulerEventKind::jumped_ahead) continue;
    if (n_forced == 0) QCOMPARE(sentence_of(event), std::string("5 tokens forced by the output format; the answer has 6."));
    QCOMPARE(word_of(event.kind), std::string("Jumped ahead"));
    n_forced += event.n[0];
  }
  QCOMPARE(n_chunks, 0);
  QCOMPARE(static_cast<std::uint64_t>(n_forced), n_jumped(harness));
  QCOMPARE(static_cast<std::int64_t>(harness.engine->snapshot()->counters.n_generation_tokens),
           answer.all.usage.n_completion_tokens);
}

void JumpAheadTest::the_setting_is_checked() {
  Harness harness(roomy());
  const auto refused = harness.engine->submit(request_of(R"({"choice": ["a"], "jump_ahead": 1})", 1));
  QVERIFY(!refused);
  QCOMPARE(refused.error().where, std::string("structured_outputs.jump_ahead"));
}

LATHE_TEST(JumpAheadTest)

}  // namespace jump_ahead_test
#include "jump_ahead_test.moc"
