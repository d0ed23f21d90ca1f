// SPDX-License-Identifier: Apache-2.0
// The requests of a run: drawn, out of a dataset, and replayed from a trace.
#include "app/bench/sweep/request_plan.h"

#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "app/bench/text_dataset.h"
#include "tests/support/tiny_model.h"

using namespace lathe;
using namespace lathe::app;

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
  void every_form_of_a_dataset_is_read() {
    const std::vector<std::string> wanted = {"one", "two two", "three"};
    QVERIFY(*read_prompt_dataset(file("a.txt", "one\r\n\ntwo two\n   \nthree")) == wanted);
    QVERIFY(*read_prompt_dataset(file("a.json", R"(["one", "two two", "", "three"])")) == wanted);
    const std::string lines =
        "{\"text\": \"one\"}\n{\"id\": 1, \"prompt\": \"two two\"}\n\n"
        "{\"conversations\": [{\"from\": \"human\", \"value\": \"three\"}, {\"from\": \"gpt\", \"value\": \"no\"}]}\n";
    QVERIFY(*read_prompt_dataset(file("a.jsonl", lines)) == wanted);
    QVERIFY(*read_prompt_dataset(
                file("b.json", R"([{"conversations": [{"value": "one"}]}, {"text": "two two"}, "three"])")) == wanted);
  }

  void what_is_no_prompt_is_named_with_file_and_line() {
    const auto bad = read_prompt_dataset(file("bad.jsonl", "{\"text\": \"one\"}\n{\"text\": 2}\n"));
    QVERIFY2(bad.error().where.ends_with("bad.jsonl, line 2"), bad.error().where.c_str());
    const auto broken = read_prompt_dataset(file("cut.jsonl", "{\"text\": \"one\"}\n\n{\"text\"\n"));
    QVERIFY2(broken.error().where.find("cut.jsonl, line 3") != std::string::npos, broken.error().where.c_str());
    QVERIFY(read_prompt_dataset(file("bad.json", "[\"a\", 7]")).error().where.ends_with("item 1"));
    QCOMPARE(read_prompt_dataset("/nowhere/at.txt").error().code, engine::ErrorCode::not_found);
    QVERIFY(!read_prompt_dataset(file("empty.txt", "\n\n")).has_value());
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
    plan.workload.load = "poisson";
    QCOMPARE(check(plan).error().where, std::string("trace"));
  }
};

QTEST_GUILESS_MAIN(RequestPlanTest)
#include "request_plan_test.moc"
