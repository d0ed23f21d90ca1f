// SPDX-License-Identifier: Apache-2.0
// Whole sweeps on a tiny model: failing cells, stopping, and going on from the journal.
#include "app/bench/sweep/load/sweep.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/load/load_generator.h"
#include "app/bench/sweep/load/request_plan.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace sweep_test {

using namespace lathe;
using namespace lathe::app;
using engine::ErrorCode;

namespace {

SweepPlan small_plan(std::vector<SweepVariable> variables) {
  SweepPlan plan;
  plan.options.model = tests::tiny_model_path();
  plan.options.threads = 1;
  plan.sampling.temperature = 0;
  plan.workload = {.prompt_tokens = 8, .output_tokens = 4, .requests = 3, .load = "concurrency", .concurrency = 2};
  plan.variables = std::move(variables);
  plan.repeats = 2;
  return plan;
}

SweepReport swept(const SweepPlan& plan, SweepJournal& journal, const SweepObserver& observer = {}) {
  auto report = run_sweep(plan, journal, engine::load_engine, observer);
  if (!report) qFatal("%s", report.error().message.c_str());
  return *report;
}

}  // namespace

class SweepTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }

 private Q_SLOTS:
  void every_cell_is_measured_as_often_as_asked() {
    const SweepPlan plan = small_plan({{"concurrency", {"1", "3"}}, {"block_size", {"8", "16"}}});
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    QCOMPARE(report.cells.size(), std::size_t{4});
    for (const auto& [index, cell] : report.cells) {
      QVERIFY(cell.error.empty());
      QCOMPARE(cell.samples.size(), std::size_t{2});
      QVERIFY(cell.samples[0][0] > 0);
    }
  }

  void every_cell_is_sent_the_same() {
    SweepPlan plan = small_plan({{"load", {"concurrency", "poisson"}}, {"requests", {"5", "6"}}});
    plan.workload = {
        .prompt_tokens = 12, .output_tokens = 6, .length_spread = 0.5, .shared_prefix = 0.25, .concurrency = 2, .rate = 500};
    plan.repeats = 1;
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    const auto answers = [&](std::size_t cell) { return report.cells.at(cell).samples[0][metric_index("answers")]; };
    QVERIFY(answers(0) == answers(2));  // of five requests, another load
    QVERIFY(answers(1) == answers(3));
    QVERIFY(answers(0) != answers(1));
  }

  /// The shoot-out: the same requests of mixed lengths, the same answers, at another price.
  void every_policy_writes_the_same_answers() {
    SweepPlan plan = small_plan({{"policy", {"static", "dynamic", "continuous", "paged"}}});
    plan.workload = {.prompt_tokens = 12,
                     .output_tokens = 12,
                     .length_spread = 0.8,
                     .requests = 8,
                     .load = "concurrency",
                     .concurrency = 4};
    plan.options.max_num_seqs = 4;
    plan.options.max_model_len = 64;
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    const auto value = [&](std::size_t cell, const char* metric) {
      return report.cells.at(cell).samples[0][metric_index(metric)];
    };
    for (std::size_t cell = 0; cell < 4; ++cell) {
      QVERIFY2(report.cells.at(cell).error.empty(), report.cells.at(cell).error.c_str());
      QVERIFY(value(cell, "answers") == value(3, "answers"));
    }
    QVERIFY(value(3, "answers") != report.cells.at(3).samples[1][metric_index("answers")]);  // of other prompts
    QVERIFY(value(0, "padding") > 0 && value(1, "padding") > 0);
    QVERIFY(value(2, "padding") == 0 && value(3, "padding") == 0);
    QVERIFY(value(2, "kv_reserved") > 0.2);
    QVERIFY(value(3, "kv_reserved") < value(2, "kv_reserved"));
  }

  /// A request that is over after one step held its blocks all the same: 8 tokens, and 8 + 3 with the answer of 4.
  void the_peak_of_the_cache_is_seen_in_the_shortest_run() {
    SweepPlan plan = small_plan({{"output_tokens", {"1", "4"}}});
    plan.workload.concurrency = 1;
    plan.workload.requests = 1;
    plan.options.block_size = 8;
    plan.options.num_gpu_blocks_override = 32;
    plan.repeats = 4;
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    for (std::size_t cell = 0; cell < 2; ++cell) {
      QVERIFY2(report.cells.at(cell).error.empty(), report.cells.at(cell).error.c_str());
      for (const double peak : report.cells.at(cell).samples_of(metric_index("kv_usage_peak")))
        QCOMPARE(peak, static_cast<double>(cell + 1) / 32);
    }
  }

  void every_load_pattern_sends_all_requests() {
    const SweepPlan plan = small_plan({{"load", {"concurrency", "constant", "poisson"}}, {"rate", {"200"}}});
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    QCOMPARE(report.cells.size(), std::size_t{3});
    for (const auto& [index, cell] : report.cells) {
      QVERIFY2(cell.error.empty(), cell.error.c_str());
      QCOMPARE(cell.samples_of(metric_index("requests")), (std::vector<double>{3, 3}));
    }
  }

  void a_cell_that_cannot_be_is_recorded_and_the_sweep_goes_on() {
    SweepPlan plan = small_plan({{"block_size", {"16", "100000"}}, {"output_tokens", {"4", "900000"}}});
    plan.shuffle = false;
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    QCOMPARE(report.cells.size(), std::size_t{4});
    QVERIFY(report.cells.at(0).error.empty());
    QVERIFY(!report.cells.at(1).error.empty());
    QVERIFY(report.cells.at(2).error.starts_with("block_size must be"));  // and does not say twice which
    const engine::OrderedJson json = to_json(plan, report);
    QVERIFY(json["cells"][0].contains("metrics") && !json["cells"][0].contains("error"));
    QVERIFY(json["cells"][1].contains("error") && !json["cells"][1].contains("metrics"));
    QVERIFY(json["cells"][2]["variables"]["block_size"] == "100000");
  }

  /// Killed: the journal ends in the middle of a line.
  void a_journal_is_gone_on_with_after_a_crash() {
    const SweepPlan plan = small_plan({{"concurrency", {"1", "2", "3"}}});
    {
      auto journal = SweepJournal::open(path("crash"), plan, false);
      int n_left = 3;  // looks at the second cell
      QVERIFY(swept(plan, *journal, [&](const SweepProgress& now, bool) {
                return now.cells_done < 1 || --n_left > 0 ? SweepDecision::go_on : SweepDecision::stop;
              }).stopped);
    }
    const std::string before = tests::read_file(path("crash"));
    tests::write_file(path("crash"), before + "{\"cell\": 2, \"sam");
    const auto refused = SweepJournal::open(path("crash"), plan, false);
    QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
    auto journal = SweepJournal::open(path("crash"), plan, true);
    QVERIFY2(journal.has_value(), journal ? "" : journal.error().message.c_str());
    const std::size_t n_kept = journal->cells().size();
    QVERIFY(n_kept >= 1 && n_kept <= 3);
    const SweepReport report = swept(plan, *journal);
    QCOMPARE(report.cells.size(), std::size_t{3});
    for (const auto& [index, cell] : report.cells) QCOMPARE(cell.samples.size(), std::size_t{2});
    // Nothing that was there has been measured again.
    QVERIFY(tests::read_file(path("crash")).starts_with(before));
    // Two at a time would measure everything twice.
    QVERIFY(SweepJournal::open(path("crash"), plan, true).error().message.find("another sweep") != std::string::npos);
    QCOMPARE(SweepJournal::cells_in(path("crash"), plan)->size(), std::size_t{3});
  }

  void cells_that_failed_are_tried_again() {
    const SweepPlan plan = small_plan({{"output_tokens", {"4", "900000"}}});
    {
      auto journal = SweepJournal::open(path("failed"), plan, false);
      QCOMPARE(swept(plan, *journal).cells.at(1).error.empty(), false);
    }
    auto journal = SweepJournal::open(path("failed"), plan, true);
    QCOMPARE(journal->cells().size(), std::size_t{1});
    QCOMPARE(swept(plan, *journal).cells.at(1).error.empty(), false);
  }

  void another_goal_is_another_plan() {
    SweepPlan plan = small_plan({});
    QVERIFY(SweepJournal::open(path("goal"), plan, false).has_value());
    plan.goal.ttft_ms = 200;
    QVERIFY(!SweepJournal::open(path("goal"), plan, true).has_value());
  }

  void a_journal_of_another_plan_is_refused() {
    QVERIFY(SweepJournal::open(path("other"), small_plan({{"concurrency", {"1"}}}), false).has_value());
    const auto refused = SweepJournal::open(path("other"), small_plan({{"concurrency", {"2"}}}), true);
    QVERIFY(refused.error().message.find("another plan") != std::string::npos);
    QVERIFY(refused.error().message.find("concurrency=1 in the journal and concurrency=2 here") != std::string::npos);
  }

  void what_is_no_journal_is_left_as_it_is() {
    tests::write_file(path("letter"), "dear\nreader\n");
    QVERIFY(!SweepJournal::open(path("letter"), small_plan({}), true).has_value());
    QCOMPARE(tests::read_file(path("letter")), std::string("dear\nreader\n"));
    tests::write_file(path("word"), "dear");
    QVERIFY(!SweepJournal::open(path("word"), small_plan({}), true).has_value());
    QCOMPARE(tests::read_file(path("word")), std::string("dear"));
  }

  void a_table_has_a_line_a_cell() {
    const SweepPlan plan = small_plan({{"concurrency", {"1", "2"}}});
    auto journal = SweepJournal::open("", plan, false);
    const std::string csv = to_csv(plan, swept(plan, *journal));
    QCOMPARE(std::count(csv.begin(), csv.end(), '\n'), std::ptrdiff_t{3});
    QVERIFY(csv.starts_with("concurrency,output_tok_s,output_tok_s_ci95,"));
  }

  void prompts_of_a_dataset_and_a_trace_are_sent() {
    tests::write_file(path("prompts.txt"), "Once upon a time\nThere was a dog.\nThe cat sat.\n");
    tests::write_file(path("trace.csv"), "arrival,prompt_tokens,output_tokens\n0,8,3\n0.01,16,2\n");
    SweepPlan plan = small_plan({{"concurrency", {"1", "2"}}});
    plan.workload.dataset = path("prompts.txt");
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport from_texts = swept(plan, *journal);
    const auto answers = [](const CellResult& cell) { return cell.samples.at(0)[metric_index("answers")]; };
    QVERIFY(answers(from_texts.cells.at(0)) == answers(from_texts.cells.at(1)));
    plan = small_plan({});
    plan.workload.load = "replay";
    plan.workload.trace = path("trace.csv");
    auto replays = SweepJournal::open("", plan, false);
    const CellResult replayed = swept(plan, *replays).cells.at(0);
    QVERIFY2(replayed.error.empty(), replayed.error.c_str());
    plan.workload.trace = path("none.csv");
    auto none = SweepJournal::open("", plan, false);
    const CellResult failed = swept(plan, *none).cells.at(0);
    QVERIFY2(failed.error.find("none.csv") != std::string::npos, failed.error.c_str());
  }

  /// Unquantized is the reference itself; four bits are not.
  void what_numbers_cost_is_measured_beside_their_speed() {
    tests::write_file(path("text.json"), R"(["Once upon a time there was a dog.", "The cat sat on the mat."])");
    SweepPlan plan = small_plan({{"quantization", {"none", "int4_g32"}}, {"concurrency", {"1", "2"}}});
    plan.quality_dataset = path("text.json");
    plan.repeats = 1;
    auto journal = SweepJournal::open("", plan, false);
    int n_evaluations = 0;
    const SweepReport report = swept(plan, *journal, [&](const SweepProgress& now, bool between_runs) {
      n_evaluations += between_runs && now.doing == "evaluating" ? 1 : 0;
      return SweepDecision::go_on;
    });
    QCOMPARE(n_evaluations, 2);  // not once a cell
    const auto value = [&](std::size_t cell, const char* metric) {
      return report.cells.at(cell).estimate_of(metric_index(metric));
    };
    for (std::size_t cell = 0; cell < 4; ++cell) {
      QVERIFY2(report.cells.at(cell).error.empty(), report.cells.at(cell).error.c_str());
      for (const char* metric : {"perplexity", "load_s", "weight_bytes", "prefill_tok_s", "output_tok_s"})
        QVERIFY2(value(cell, metric).mean > 0, metric);
      QVERIFY(value(cell, "perplexity").half_width > 0);
    }
    QVERIFY(value(0, "kl_mean").mean < 1e-9 && value(0, "same_best").mean == 1);
    QVERIFY(value(2, "kl_mean").mean > 1e-6 && value(2, "kl_99").mean >= value(2, "kl_mean").mean);
    QVERIFY(value(2, "weight_bytes").mean < value(0, "weight_bytes").mean);
  }

  /// After the first cell the evaluation of the second engine is still in what is left; before the last cell it is not.
  void what_is_left_includes_the_quality_of_the_next_engine() {
    tests::write_file(path("long.json"), "[\"" + std::string(2000, 'a') + "\"]");
    SweepPlan plan = small_plan({{"quantization", {"none", "int8_g32"}}, {"concurrency", {"1", "2"}}});
    plan.quality_dataset = path("long.json");
    plan.repeats = 1;
    plan.warm_up = false;
    auto journal = SweepJournal::open("", plan, false);
    double begun = 0, evaluated = 0, left = 0, left_of_last = 0;
    swept(plan, *journal, [&](const SweepProgress& now, bool between_runs) {
      if (between_runs && now.cells_done == 0 && now.doing == "evaluating") begun = now.seconds;
      if (between_runs && now.cells_done == 0 && now.doing == "loading") evaluated = now.seconds - begun;
      if (between_runs && now.cells_done == 1) left = now.seconds_left;
      if (between_runs && now.cells_done == 3) left_of_last = now.seconds_left;
      return SweepDecision::go_on;
    });
    QVERIFY(evaluated > 0);
    QVERIFY(left > evaluated);
    QVERIFY(left_of_last > 0 && left_of_last < left - evaluated);
  }

  /// The guard of memory is broken on a machine of the test's own; all others are silent there.
  void what_disturbs_a_run_is_kept_with_it() {
    std::filesystem::create_directories(path("machine/proc"));
    tests::write_file(path("machine/proc/meminfo"), "MemTotal: 1000 kB\nMemAvailable: 20 kB\n");
    const SweepPlan plan = small_plan({{"concurrency", {"1", "2"}}});
    const std::vector<std::string> wanted = {"98.0 % of the memory is in use: the machine is about to swap"};
    const auto words = [](const SweepReport& report) {
      std::vector<std::string> all;
      for (const MachineWarning& warning : report.warnings()) all.push_back(text_of(warning));
      return all;
    };
    {
      auto journal = SweepJournal::open(path("warned"), plan, false);
      const auto report = run_sweep(plan, *journal, engine::load_engine, {}, {.packed = {}, .root = path("machine")});
      QVERIFY(words(*report) == wanted);
      const engine::OrderedJson json = to_json(plan, *report);
      QVERIFY(json["warnings"][0]["words"] == wanted[0] && json["cells"][1]["warnings"]["memory"] == 0.98);
      QVERIFY(to_markdown(plan, *report).find("> Warning: 98.0 %") != std::string::npos);
      QVERIFY(to_html(plan, *report).find("Warning: 98.0 %") != std::string::npos);
    }
    const auto kept = SweepJournal::cells_in(path("warned"), plan);
    QVERIFY(words({.cells = *kept}) == wanted);
    std::string broken = tests::read_file(path("warned"));
    broken.replace(broken.find("{\"memory\""), 1, "[");
    tests::write_file(path("warned"), broken);
    QVERIFY(!SweepJournal::cells_in(path("warned"), plan).has_value());
  }

  /// Each prompt is the one before, its answer and 10 new tokens; of all but the last block the cache has what was said.
  void a_conversation_goes_on_where_it_was() {
    SweepPlan plan = small_plan({});
    plan.options.block_size = 8;
    plan.workload = {.prompt_tokens = 30,
                     .output_tokens = 6,
                     .requests = 2,
                     .load = "concurrency",
                     .concurrency = 1,
                     .turns = 3,
                     .turn_tokens = 10,
                     .think_time = 0.02};
    const auto requests = RequestPlanner().plan(plan.workload, 1);
    for (const bool caches : {true, false}) {
      plan.options.enable_prefix_caching = caches;
      auto engine = engine::load_engine(plan.options);
      const auto run = run_load(**engine, plan.workload, *requests, plan.sampling, 1, [] { return true; });
      QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
      QCOMPARE(run->requests.size(), std::size_t{6});
      for (std::size_t i = 0; i < 6; ++i) {
        const SentRequest& sent = run->requests[i];
        const std::size_t turn = i % 3;
        QCOMPARE(sent.usage.n_prompt_tokens, static_cast<std::int64_t>(30 + 16 * turn));
        QCOMPARE(sent.usage.n_completion_tokens, std::int64_t{6});
        // 36 and 52 tokens were said: four and six whole blocks, without the token that was not computed.
        QCOMPARE(sent.usage.n_cached_tokens, caches ? std::vector<std::int64_t>({0, 32, 48})[turn] : std::int64_t{0});
        if (turn > 0) {
          QVERIFY(std::abs(sent.scheduled - run->requests[i - 1].end - 0.02) < 1e-9);
          QVERIFY(sent.token_times.front() >= sent.scheduled);
        }
      }
      // One at a time: the second conversation begins when the first is over.
      QVERIFY(run->requests[3].scheduled >= run->requests[2].end);
    }
  }

  void conversations_of_a_dataset_write_the_same_under_every_load() {
    tests::write_file(path("talks.jsonl"),
                      "{\"turns\": [\"Once upon a time\", \"And then?\"]}\n{\"turns\": [\"A dog.\"]}\n");
    SweepPlan plan = small_plan({{"concurrency", {"1", "2"}}, {"enable_prefix_caching", {"true", "false"}}});
    plan.workload.dataset = path("talks.jsonl");
    plan.workload.turns = 2;
    plan.workload.requests = 4;
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    for (const auto& [index, cell] : report.cells) {
      QVERIFY2(cell.error.empty(), cell.error.c_str());
      QVERIFY(cell.samples[0][metric_index("answers")] == report.cells.at(0).samples[0][metric_index("answers")]);
      QCOMPARE(cell.samples[0][metric_index("request_s")] > 0, true);
    }
    plan.workload.dataset = path("prompts.txt");
    tests::write_file(path("prompts.txt"), "Once upon a time\n");
    plan.variables.clear();
    auto flat = SweepJournal::open("", plan, false);
    QVERIFY(swept(plan, *flat).cells.at(0).error.find("no item has a second") != std::string::npos);
  }

  /// The begin of two prompts is the same block of the trace.
  void prompts_of_a_trace_share_their_blocks() {
    SweepPlan plan = small_plan({});
    plan.workload = {.load = "replay"};
    const std::vector<PlannedRequest> requests = {
        {.prompt_tokens = 60, .output_tokens = 2, .text = {}, .blocks = {4}},
        {.scheduled = 0.05, .prompt_tokens = 70, .output_tokens = 2, .text = {}, .blocks = {4}},
        {.scheduled = 0.05, .prompt_tokens = 60, .output_tokens = 2, .text = {}, .blocks = {5}}};
    auto engine = engine::load_engine(plan.options);
    const auto run = run_load(**engine, plan.workload, requests, plan.sampling, 1, [] { return true; });
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    QCOMPARE(run->requests[0].usage.n_cached_tokens, std::int64_t{0});
    QCOMPARE(run->requests[1].usage.n_cached_tokens, std::int64_t{48});
    QCOMPARE(run->requests[2].usage.n_cached_tokens, std::int64_t{0});
  }

  void a_load_is_one_sample_of_its_cell() {
    const SweepPlan plan = small_plan({{"concurrency", {"1", "2"}}});
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    for (const auto& [index, cell] : report.cells) {
      QCOMPARE(cell.samples_of(metric_index("load_s")).size(), std::size_t{1});
      QCOMPARE(cell.samples_of(metric_index("output_tok_s")).size(), std::size_t{2});
      QVERIFY(cell.estimate_of(metric_index("memory_bytes")).mean > 0);
    }
  }

  /// Half of the context is the answer's at most.
  void what_the_context_does_not_hold_fails_or_is_cut() {
    SweepPlan plan = small_plan({{"too_long", {"fail", "cut"}}});
    plan.workload.prompt_tokens = 100;
    plan.workload.output_tokens = 40;
    plan.workload.requests = 2;
    plan.options.max_model_len = 64;
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal);
    QCOMPARE(report.cells.at(0).error,
             std::string("max_model_len: a prompt of 100 and an answer of 40 tokens do not fit into the context of 64; "
                         "too_long=cut shortens them to what fits"));
    QVERIFY2(report.cells.at(1).error.empty(), report.cells.at(1).error.c_str());
    QCOMPARE(report.cells.at(1).estimate_of(metric_index("requests_cut")).mean, 2.0);
    auto engine = engine::load_engine(plan.options);
    plan.workload.too_long = "cut";
    const auto requests = RequestPlanner().plan(plan.workload, 1);
    const auto run = run_load(**engine, plan.workload, *requests, plan.sampling, 1, [] { return true; });
    QCOMPARE(run->requests[0].usage.n_prompt_tokens, std::int64_t{32});
    QCOMPARE(run->requests[0].usage.n_completion_tokens, std::int64_t{32});
  }

  /// The shared prefix is a share of each prompt: a shorter prompt has fewer tokens of it.
  void prompts_of_several_lengths_share_their_begin() {
    SweepPlan plan = small_plan({});
    plan.workload.shared_prefix = 0.5;
    plan.options.block_size = 8;
    auto engine = engine::load_engine(plan.options);
    const std::vector<PlannedRequest> requests = {{.prompt_tokens = 64, .output_tokens = 1, .text = {}},
                                                  {.prompt_tokens = 32, .output_tokens = 1, .text = {}},
                                                  {.prompt_tokens = 96, .output_tokens = 1, .text = {}}};
    plan.workload.concurrency = 1;
    const auto run = run_load(**engine, plan.workload, requests, plan.sampling, 1, [] { return true; });
    QVERIFY(run.has_value());
    QCOMPARE(run->requests[1].usage.n_cached_tokens, std::int64_t{16});
    QCOMPARE(run->requests[2].usage.n_cached_tokens, std::int64_t{32});
  }

  void a_shared_prefix_is_found_in_the_cache() {
    SweepPlan plan = small_plan({});
    plan.workload.prompt_tokens = 64;
    plan.workload.shared_prefix = 0.75;
    plan.workload.requests = 4;
    plan.workload.concurrency = 1;
    auto engine = engine::load_engine(plan.options);
    const auto requests = RequestPlanner().plan(plan.workload, 1);
    const auto run = run_load(**engine, plan.workload, *requests, plan.sampling, 1, [] { return true; });
    QVERIFY(run.has_value());
    QCOMPARE(run->requests[0].usage.n_cached_tokens, std::int64_t{0});
    QCOMPARE(run->requests[3].usage.n_cached_tokens, std::int64_t{48});
    for (const SentRequest& request : run->requests) QCOMPARE(request.token_times.size(), std::size_t{4});
  }
};

LATHE_TEST(SweepTest)

}  // namespace sweep_test
#include "sweep_test.moc"
