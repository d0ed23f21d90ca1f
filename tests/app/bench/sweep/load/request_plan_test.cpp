// SPDX-License-Identifier: Apache-2.0
// The requests of a run: drawn, out of a dataset, and replayed from a trace.
#include "app/bench/sweep/load/request_plan.h"

#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace request_plan_test {

using namespace lathe;
using namespace lathe::app;

namespace {

constexpr const char* kTalks = "{\"turns\": [\"a1\", \"a2\"]}\n{\"turns\": [\"b1\", \"b2\", \"b3\", \"b4\"]}\n";

}  // namespace

class RequestPlanTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string file(const char* name, const std::string& text) const {
    const std::string path = folder_.filePath(QLatin1String(name)).toStdString();
    tests::write_file(path, text);
    return path;
  }
  static std::set<std::string> texts_of(const std::vector<PlannedRequest>& requests) {
    std::set<std::string> texts;
    for (const PlannedRequest& request : requests) texts.insert(request.text);
    return texts;
  }

 private Q_SLOTS:
  void texts_of_a_plan_are_the_first_turns() {
    SweepWorkload work{.requests = 2, .dataset = file("c.jsonl", kTalks)};
    const auto requests = RequestPlanner().plan(work, 1);
    QCOMPARE(requests->size(), std::size_t{2});
    QVERIFY((texts_of(*requests) == std::set<std::string>{"a1", "b1"}));
  }

  /// A conversation is as long as it is, and at most as long as is asked for.
  void turns_stand_behind_the_first_of_their_conversation() {
    SweepWorkload work{.prompt_tokens = 10,
                       .output_tokens = 3,
                       .requests = 2,
                       .load = "constant",
                       .rate = 4,
                       .dataset = file("d.jsonl", kTalks),
                       .turns = 3,
                       .turn_tokens = 4,
                       .think_time = 0.25};
    RequestPlanner planner;
    const auto from_file = planner.plan(work, 1);
    QCOMPARE(from_file->size(), std::size_t{5});  // two and three turns
    for (std::size_t i = 0; i < from_file->size(); ++i) {
      const PlannedRequest& request = (*from_file)[i];
      QCOMPARE(request.text.substr(1), std::to_string(request.turn + 1));
      QCOMPARE(request.has_next(), i + 1 < from_file->size() && (*from_file)[i + 1].turn > 0);
    }
    work.dataset.clear();
    const auto drawn = planner.plan(work, 1);
    QCOMPARE(drawn->size(), std::size_t{6});
    QCOMPARE((*drawn)[3].turn, std::int64_t{0});
    QCOMPARE((*drawn)[3].scheduled, 0.25);  // conversations come at the rate
    QCOMPARE((*drawn)[0].prompt_tokens, std::int64_t{10});
    QCOMPARE((*drawn)[4].prompt_tokens, std::int64_t{4});
    QCOMPARE((*drawn)[4].think_time, 0.25);
    QCOMPARE((*drawn)[3].think_time, 0.0);
    work.turn_tokens = 0;
    QCOMPARE((*planner.plan(work, 1))[4].prompt_tokens, std::int64_t{10});
  }

  /// The same lengths under every load, as those of an even spread.
  void lengths_may_be_lognormal() {
    SweepWorkload work{.prompt_tokens = 128,
                       .output_tokens = 64,
                       .length_spread = 1,
                       .length_distribution = "lognormal",
                       .requests = 2000,
                       .load = "concurrency"};
    const auto planned = RequestPlanner().plan(work, 3), again = RequestPlanner().plan(work, 3);
    work.load = "poisson";
    const auto other = RequestPlanner().plan(work, 3);
    double prompts = 0, outputs = 0;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < planned->size(); ++i) {
      const PlannedRequest& request = (*planned)[i];
      QVERIFY(request.prompt_tokens >= 1 && request.output_tokens >= 1);
      QCOMPARE(request.prompt_tokens, (*again)[i].prompt_tokens);
      QCOMPARE(request.output_tokens, (*other)[i].output_tokens);
      prompts += static_cast<double>(request.prompt_tokens);
      outputs += static_cast<double>(request.output_tokens);
      longest = std::max(longest, request.prompt_tokens);
    }
    QVERIFY(std::abs(prompts / 2000 - 128) < 10 && std::abs(outputs / 2000 - 64) < 5);
    QVERIFY(longest > 2 * 128);  // where an even spread ends
  }

  /// Gaps differ, and their mean is what was asked for, whatever the seed.
  void poisson_comes_at_its_rate() {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const auto planned = RequestPlanner().plan({.requests = 40, .load = "poisson", .rate = 5}, seed);
      std::set<long long> gaps;
      for (std::size_t i = 1; i < 40; ++i) {
        const double gap = (*planned)[i].scheduled - (*planned)[i - 1].scheduled;
        QVERIFY(gap > 0);
        gaps.insert(std::llround(1e6 * gap));
      }
      QVERIFY(gaps.size() > 30);
      QVERIFY(std::abs(planned->back().scheduled - 39 / 5.0) < 1e-9);
    }
    QCOMPARE(RequestPlanner().plan({.requests = 1, .load = "poisson"}, 1)->front().scheduled, 0.0);
  }

  void turns_that_a_file_cannot_have_are_refused() {
    RequestPlanner planner;
    const auto flat = planner.plan({.dataset = file("flat.txt", "one\ntwo\n"), .turns = 2}, 1);
    QVERIFY2(flat.error().message.find("no item has a second") != std::string::npos, flat.error().message.c_str());
    QVERIFY(flat.error().where.ends_with("flat.txt"));
    const auto trace = planner.plan({.load = "replay", .trace = file("t.csv", "1,8,4\n"), .turns = 2}, 1);
    QCOMPARE(trace.error().where, std::string("turns"));
  }

  void texts_are_drawn_by_the_seed_and_each_once_before_any_twice() {
    SweepWorkload work{.requests = 4, .dataset = file("four.txt", "a\nb\nc\nd\n")};
    RequestPlanner planner;
    const auto first = planner.plan(work, 1), again = planner.plan(work, 1);
    QCOMPARE(texts_of(*first).size(), std::size_t{4});
    for (std::size_t i = 0; i < 4; ++i) QCOMPARE((*first)[i].text, (*again)[i].text);
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      std::string order;
      const auto planned = planner.plan(work, seed);
      for (const PlannedRequest& request : *planned) order += request.text;
      orders.insert(order);
    }
    QVERIFY(orders.size() > 1);
    // Another load sends the same.
    work.load = "poisson";
    for (std::size_t i = 0; i < 4; ++i) QCOMPARE((*planner.plan(work, 1))[i].text, (*first)[i].text);
    work.requests = 9;
    QCOMPARE(texts_of(*planner.plan(work, 1)).size(), std::size_t{4});
  }

  void a_trace_is_read_in_either_form() {
    const auto csv = read_trace(file("a.csv", "10.5,8,4\n10, 16, 2\n\n12,1,1\n"));
    QCOMPARE(csv->size(), std::size_t{3});
    QCOMPARE((*csv)[0].arrival, 0.0);
    QCOMPARE((*csv)[0].prompt_tokens, std::int64_t{16});
    QCOMPARE((*csv)[2].arrival, 2.0);
    const auto named = read_trace(file("b.csv", "id,output_tokens,\"arrival\",prompt_tokens\n7,4,0.5,8\n"));
    QCOMPARE((*named)[0].output_tokens, std::int64_t{4});
    QCOMPARE((*named)[0].prompt_tokens, std::int64_t{8});
    const auto json =
        read_trace(file("a.jsonl", "{\"arrival\": 3, \"prompt_tokens\": 8, \"output_tokens\": 4, \"x\": 1}\n"));
    QCOMPARE((*json)[0].output_tokens, std::int64_t{4});
  }

  /// Blocks with the same number are the same tokens, in whatever prompt they stand.
  void a_trace_of_mooncake_says_what_prompts_share() {
    const auto line = [](int at, int n, const char* blocks) {
      return "{\"timestamp\": " + std::to_string(at) + ", \"input_length\": " + std::to_string(n) +
             ", \"output_length\": 5, \"hash_ids\": " + blocks + "}\n";
    };
    const auto trace = read_trace(file("m.jsonl", line(2000, 700, "[0, 7]") + line(3500, 512, "[0]")));
    QVERIFY2(trace.has_value(), trace ? "" : trace.error().message.c_str());
    QCOMPARE((*trace)[1].arrival, 1.5);
    QCOMPARE((*trace)[0].prompt_tokens, std::int64_t{700});
    QVERIFY((*trace)[0].blocks == (std::vector<std::int64_t>{0, 7}));
    const auto few = read_trace(file("few.jsonl", line(0, 513, "[3]")));
    QVERIFY2(few.error().message.find("513 tokens needs 2") != std::string::npos, few.error().message.c_str());
    QVERIFY(read_trace(file("odd.jsonl", line(0, 5, "[-1]"))).error().where.ends_with("odd.jsonl, line 1"));
    SweepWorkload work{.load = "replay", .trace = file("m.jsonl", line(0, 700, "[0, 7]"))};
    QVERIFY(((*RequestPlanner().plan(work, 1))[0].blocks == std::vector<std::int64_t>{0, 7}));
  }

  void the_open_trace_of_mooncake_is_read_whole() {
    SKIP_WITHOUT_SHARED("data/workloads/conversation_trace.jsonl");
    const auto trace = read_trace(tests::shared_path("data/workloads/conversation_trace.jsonl"));
    QVERIFY2(trace.has_value(), trace ? "" : trace.error().message.c_str());
    QCOMPARE(trace->size(), std::size_t{12'031});
    QCOMPARE(trace->front().blocks.front(), std::int64_t{0});
  }

  void a_trace_of_azure_has_dates() {
    const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";
    const auto trace = read_trace(file("az.csv", head + "2023-12-31 23:59:59.7500000,374,44\r\n"
                                                        "2024-01-01 00:00:01.0000000,396,109\r\n"));
    QVERIFY2(trace.has_value(), trace ? "" : trace.error().message.c_str());
    QCOMPARE(trace->size(), std::size_t{2});
    QCOMPARE((*trace)[1].arrival, 1.25);
    QCOMPARE((*trace)[0].prompt_tokens, std::int64_t{374});
    QCOMPARE((*trace)[1].output_tokens, std::int64_t{109});
    for (const char* at :
         {"12.5", "2023-13-01 00:00:00", "2023-02-29 00:00:00", "2023-11-16 24:00:00", "2023-11-16", "2023-11-16 18:15:46.",
          "2023-11-16 18:15:46.5e3", "2023-11-16 18:15:46x", "-023-11-16 18:15:46"}) {
      const auto refused = read_trace(file("bad.csv", head + at + ",1,1\n"));
      QVERIFY2(!refused && refused.error().where.ends_with("bad.csv, line 2"), at);
    }
    const auto few = read_trace(file("few.csv", "TIMESTAMP,ContextTokens\n"));
    QVERIFY2(few.error().message.find("no GeneratedTokens") != std::string::npos, few.error().message.c_str());
  }

  void the_open_trace_of_azure_is_read_whole() {
    SKIP_WITHOUT_SHARED("data/workloads/AzureLLMInferenceTrace_conv.csv");
    const auto trace = read_trace(tests::shared_path("data/workloads/AzureLLMInferenceTrace_conv.csv"));
    QVERIFY2(trace.has_value(), trace ? "" : trace.error().message.c_str());
    QCOMPARE(trace->size(), std::size_t{19'366});
    QVERIFY(trace->back().arrival > 3000 && trace->back().arrival < 4000);
  }

  void a_bad_trace_is_refused_with_file_and_line() {
    const auto where = [&](const char* name, const std::string& text) {
      const auto trace = read_trace(file(name, text));
      return trace ? std::string("read") : trace.error().where.substr(trace.error().where.rfind('/') + 1);
    };
    QCOMPARE(where("1.csv", "1,8,4\n2,8\n"), std::string("1.csv, line 2"));
    QCOMPARE(where("2.csv", "1,8,4\n\n2,eight,4\n"), std::string("2.csv, line 3"));
    QCOMPARE(where("3.csv", "1,0,4\n"), std::string("3.csv, line 1"));
    QCOMPARE(where("4.csv", "1,8.5,4\n"), std::string("4.csv, line 1"));
    QCOMPARE(where("5.csv", "arrival,prompt_tokens\n1,8\n"), std::string("5.csv, line 1"));
    QCOMPARE(where("6.csv", "inf,8,8\n"), std::string("6.csv, line 1"));
    QCOMPARE(where("7.jsonl", "{\"arrival\": 1}\n"), std::string("7.jsonl, line 1"));
    QCOMPARE(where("8.csv", "\n"), std::string("8.csv"));
    QCOMPARE(read_trace("/nowhere/a.csv").error().code, engine::ErrorCode::not_found);
  }

  void a_trace_is_replayed_at_its_scale() {
    SweepWorkload work{.load = "replay", .trace = file("r.csv", "5,8,4\n6,16,2\n9,3,1\n"), .time_scale = 0.5};
    RequestPlanner planner;
    const auto all = planner.plan(work, 1);
    QCOMPARE(all->size(), std::size_t{3});
    QCOMPARE((*all)[1].scheduled, 0.5);
    QCOMPARE((*all)[2].scheduled, 2.0);
    QCOMPARE((*all)[1].prompt_tokens, std::int64_t{16});
    QCOMPARE((*all)[2].output_tokens, std::int64_t{1});
    work.requests = 2;
    QCOMPARE(planner.plan(work, 1)->size(), std::size_t{2});
  }

  void a_trace_and_its_load_need_each_other() {
    SweepPlan plan;
    plan.workload.load = "replay";
    QCOMPARE(check(plan).error().where, std::string("trace"));
    plan.workload.trace = "a.csv";
    QVERIFY(check(plan).has_value());
    plan.workload.turns = 2;
    QCOMPARE(check(plan).error().where, std::string("turns"));
    plan.workload.turns = 1;
    plan.workload.load = "poisson";
    QCOMPARE(check(plan).error().where, std::string("trace"));
  }
};

LATHE_TEST(RequestPlanTest)

}  // namespace request_plan_test
#include "request_plan_test.moc"
