// SPDX-License-Identifier: Apache-2.0
// Sweeps of a server: our own over a fake engine, and one that does what servers should not.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <set>

#include "app/api/machine_guard.h"
#include "app/api/sweep_export.h"
#include "app/api/sweep_reproduction.h"
#include "app/bench/sweep/load/sweep.h"
#include "app/bench/sweep/load/target_load.h"
#include "tests/app/bench/sweep/target_plan.h"
#include "tests/support/scripted_server.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace target_test {

using namespace lathe;
using namespace lathe::app;
using engine::ErrorCode;
using tests::failure_of;
using tests::http_answer;
using tests::http_stream;
using tests::kUsage;
using tests::plan_for;
using tests::ScriptedRequest;
using tests::ScriptedServer;
using tests::ServerFixture;
using tests::streams;
using tests::swept;
using tests::token;

namespace {

std::string url_of(const ServerFixture& server) { return "http://127.0.0.1:" + std::to_string(server.port()); }

}  // namespace

class TargetTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void our_own_server_is_measured_from_outside() {
    ServerFixture server;
    server.engine().answer_with(std::string(64, 'x'));
    const SweepReport report =
        swept(plan_for(url_of(server), {{"concurrency", {"1", "3"}}, {"output_tokens", {"2", "4", "6"}}}));
    QCOMPARE(report.cells.size(), std::size_t{6});
    for (const auto& [index, cell] : report.cells) {
      QVERIFY2(cell.error.empty(), cell.error.c_str());
      QCOMPARE(cell.samples.size(), std::size_t{2});
      QVERIFY(cell.estimate_of(metric_index("output_tok_s")).mean > 0);
      QVERIFY(cell.estimate_of(metric_index("ttft_ms_p50")).mean > 0);
      QCOMPARE(cell.estimate_of(metric_index("kv_usage_peak")).n, std::size_t{0});
      QCOMPARE(cell.estimate_of(metric_index("preemptions")).n, std::size_t{0});
      QVERIFY(std::isnan(cell.samples[0][metric_index("padding")]));
    }
  }

  void the_highest_rate_of_a_server_is_searched() {
    ServerFixture server;
    server.engine().answer_with(std::string(64, 'x'));
    SweepPlan plan = plan_for(url_of(server));
    plan.workload.load = "saturation";
    plan.workload.requests = 60;
    plan.repeats = 1;
    const CellResult cell = swept(plan).cells.at(0);
    QVERIFY2(cell.error.empty(), cell.error.c_str());
    QVERIFY(cell.estimate_of(metric_index("max_rate")).mean > 0);
    QVERIFY(cell.trials.at(0).size() > 2);
    plan.goal.ttft_ms = 1e-6;
    QVERIFY(swept(plan).cells.at(0).error.find("no rate holds") != std::string::npos);
  }

  /// A prompt of N tokens has N on the server, and no prefix cache has met it.
  void prompts_have_the_tokens_that_were_asked_for() {
    ServerFixture server;
    server.engine().answer_with(std::string(64, 'x'));
    SweepPlan plan = plan_for(url_of(server));
    plan.warm_up = false;
    plan.workload.shared_prefix = 0.5;
    QVERIFY(swept(plan).cells.at(0).error.empty());
    std::set<std::vector<std::int32_t>> begins;
    std::size_t n_seen = 0;
    for (const engine::GenerateRequest& request : server.engine().submitted()) {
      if (request.sampling.max_tokens != 5) continue;  // what was asked to know the server
      ++n_seen;
      QCOMPARE(request.prompt_token_ids.size(), std::size_t{12});
      QVERIFY(request.sampling.ignore_eos && request.sampling.temperature == 0);
      begins.emplace(request.prompt_token_ids.begin(), request.prompt_token_ids.begin() + 6);
    }
    QCOMPARE(n_seen, std::size_t{6});
    QCOMPARE(begins.size(), std::size_t{2});  // one shared part a run
  }

  /// A server that takes and names tokens gets them back.
  void a_conversation_goes_on_with_the_tokens_of_the_answer() {
    ServerFixture server;
    server.engine().answer_with(std::string(64, 'x'));
    server.engine().set_cached_tokens(7);
    SweepPlan plan = plan_for(url_of(server));
    plan.warm_up = false;
    plan.repeats = 1;
    plan.workload = {.prompt_tokens = 12, .output_tokens = 5, .requests = 2, .turns = 3, .turn_tokens = 4};
    const SweepReport report = swept(plan);
    QVERIFY2(report.cells.at(0).error.empty(), report.cells.at(0).error.c_str());
    QVERIFY(report.cells.at(0).samples[0][metric_index("cached_share")] > 0);
    std::vector<std::vector<std::int32_t>> prompts;
    for (const engine::GenerateRequest& request : server.engine().submitted()) {
      if (request.sampling.max_tokens == 5) prompts.push_back(request.prompt_token_ids);
    }
    QCOMPARE(prompts.size(), std::size_t{6});
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::size_t turn = i % 3;
      QCOMPARE(prompts[i].size(), 12 + turn * (5 + 4));
      if (turn == 0) continue;
      std::vector<std::int32_t> said = prompts[i - 1];
      said.insert(said.end(), 5, 'x');
      QVERIFY(std::equal(said.begin(), said.end(), prompts[i].begin()));
    }
  }

  /// One that names none gets the text.
  void a_conversation_goes_on_with_the_text_of_the_answer() {
    const ScriptedServer server(streams(http_stream({token("a"), token(" b"), kUsage, "[DONE]"})));
    SweepPlan plan = plan_for(server.url());
    plan.warm_up = false;
    plan.repeats = 1;
    plan.workload = {.prompt_tokens = 12, .output_tokens = 5, .requests = 1, .turns = 2, .turn_tokens = 4};
    const SweepReport report = swept(plan);
    QVERIFY2(report.cells.at(0).error.empty(), report.cells.at(0).error.c_str());
    QVERIFY(std::isnan(report.cells.at(0).samples[0][metric_index("cached_share")]));  // it does not say
    const auto requests = server.requests();
    const auto prompt = [&](std::size_t back) {
      return (*engine::parse_json(requests[requests.size() - back].body, "body"))["prompt"].get<std::string>();
    };
    QVERIFY2(prompt(1).starts_with(prompt(2) + "a b\n"), prompt(1).c_str());
    QVERIFY(prompt(1).size() > prompt(2).size() + 4);
  }

  void tokens_are_those_of_the_usage_and_times_are_from_the_schedule() {
    const ScriptedServer server(streams(http_stream({token("a"), token("b"), kUsage, "[DONE]"})));
    SweepPlan plan = plan_for(server.url());
    plan.workload.requests = 2;
    const auto session = TargetSession::open(plan.target, {}, [] { return true; });
    QVERIFY2(session.has_value(), session ? "" : session.error().message.c_str());
    std::vector<PlannedRequest> requests(2, {.scheduled = 0, .prompt_tokens = 12, .output_tokens = 5, .text = {}});
    requests[1].scheduled = 0.2;
    plan.workload.load = "constant";
    const auto run = run_load(**session, plan.workload, requests, plan.sampling, 1, [] { return true; });
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    for (const SentRequest& request : run->requests) {
      QCOMPARE(request.usage.n_completion_tokens, std::int64_t{2});
      QCOMPARE(request.usage.n_prompt_tokens, std::int64_t{12});
      QCOMPARE(request.token_times.size(), std::size_t{2});
      QVERIFY(request.token_times[0] >= request.scheduled);
    }
    QVERIFY(run->requests[1].token_times[0] >= 0.2);
    QVERIFY(!run->answers_compare);
  }

  /// Three tokens in one write, each a chunk of its own: none came before another.
  void what_one_read_brings_came_at_one_time() {
    std::string answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& event : {token("a"), token("b"), token("c"), kUsage, std::string("[DONE]")}) {
      const std::string data = "data: " + event + "\n\n";
      answer += QByteArray::number(data.size(), 16).toStdString() + "\r\n" + data + "\r\n";
    }
    const ScriptedServer server(streams(answer + "0\r\n\r\n"));
    const SweepPlan plan = plan_for(server.url());
    const auto session = TargetSession::open(plan.target, {}, [] { return true; });
    const std::vector<PlannedRequest> requests = {{.prompt_tokens = 12, .output_tokens = 3, .text = {}}};
    const auto run = run_load(**session, plan.workload, requests, plan.sampling, 1, [] { return true; });
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    const std::vector<double>& times = run->requests[0].token_times;
    QCOMPARE(times.size(), std::size_t{3});
    QCOMPARE(times[0], times[2]);
  }

  void a_server_that_refuses_more_than_openai_has_gets_no_more() {
    const auto stream = streams(http_stream({token("a"), kUsage, "[DONE]"}));
    const ScriptedServer server([stream](const ScriptedRequest& request) -> std::optional<std::string> {
      const bool is_completion = request.path == "/v1/completions";
      if (is_completion && request.body.find("ignore_eos") != std::string::npos)
        return http_answer(400, R"({"error":{"message":"unknown field"}})");
      if (is_completion && request.body.find("\"prompt\":[") != std::string::npos)
        return http_answer(422, R"({"detail":"prompt must be text"})");
      return stream(request);
    });
    const SweepReport report = swept(plan_for(server.url()));
    QVERIFY2(report.cells.at(0).error.empty(), report.cells.at(0).error.c_str());
    const auto last = engine::parse_json(server.requests().back().body, "body");
    QVERIFY((*last)["prompt"].is_string() && !last->contains("cache_salt"));
    QVERIFY((*last)["stream_options"]["include_usage"] == true);
  }

  /// Text is trimmed where the server counts it: this one counts a token a word, and a begin.
  void text_is_trimmed_to_the_tokens_of_the_server() {
    const auto stream = streams(http_stream({token("a"), kUsage, "[DONE]"}));
    const ScriptedServer server([stream](const ScriptedRequest& request) -> std::optional<std::string> {
      if (request.path == "/tokenize") {
        const auto body = engine::parse_json(request.body, "body");
        const std::string text = (*body)["prompt"];
        const auto n = static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1 +
                       ((*body)["add_special_tokens"] == true ? 1 : 0);
        return http_answer(200, engine::dump_json(engine::Json{{"tokens", std::vector<int>(n, 7)}}));
      }
      if (request.body.find("\"prompt\":[") != std::string::npos) return http_answer(400, "{}");
      return stream(request);
    });
    QVERIFY(swept(plan_for(server.url())).cells.at(0).error.empty());
    const auto last = engine::parse_json(server.requests().back().body, "body");
    const std::string text = (*last)["prompt"];
    QCOMPARE(std::count(text.begin(), text.end(), ' '), std::ptrdiff_t{10});  // 11 words and the begin
  }

  void addresses_may_have_more_than_is_needed() {
    const ScriptedServer server(streams(http_stream({token("a"), kUsage, "[DONE]"})));
    for (const char* ending :
         {"", "/", "//", "/v1", "/v1/", "//v1//", "/v1/completions", "/v1/chat/completions", "/v1/models/"}) {
      const std::string error = failure_of(server.url() + ending);
      QVERIFY2(error.empty(), error.c_str());
      QCOMPARE(server.requests().back().path, std::string("/v1/completions"));
    }
    SweepPlan plan = plan_for(server.url() + "/gateway/v1");
    plan.target.model = "scripted";
    QVERIFY(swept(plan).cells.at(0).error.empty());
    QCOMPARE(server.requests().back().path, std::string("/gateway/v1/completions"));
    plan.target.url = server.url() + "/models/";
    QVERIFY(swept(plan).cells.at(0).error.empty());
    QCOMPARE(server.requests().back().path, std::string("/models/v1/completions"));
  }

  void a_server_that_is_not_there_is_told() {
    std::string url;
    {
      const ScriptedServer gone(streams({}));
      url = gone.url();
    }
    const std::string error = failure_of(url);
    QVERIFY2(error.find("does not accept a connection") != std::string::npos, error.c_str());
    QCOMPARE(TargetSession::open({.url = "https://a.b", .model = {}, .api_key = {}}, {}, [] { return true; }).error().code,
             ErrorCode::invalid_argument);
  }

  /// Token ids are refused within an answer of status 200.
  void an_error_in_an_answer_to_the_probe_is_a_refusal() {
    const auto stream = streams(http_stream({token("a"), token("b"), kUsage, "[DONE]"}));
    const ScriptedServer server([stream](const ScriptedRequest& request) -> std::optional<std::string> {
      if (request.body.find("\"prompt\":[") != std::string::npos)
        return http_answer(200, R"({"error":{"message":"prompt must be a string"}})");
      return stream(request);
    });
    const CellResult cell = swept(plan_for(server.url())).cells.at(0);
    QVERIFY2(cell.error.empty(), cell.error.c_str());
    const ScriptedServer refusing([](const ScriptedRequest& request) -> std::optional<std::string> {
      if (request.path == "/v1/models") return http_answer(200, R"({"data":[{"id":"scripted"}]})");
      return http_answer(200, R"({"error":"model not loaded"})");
    });
    const std::string error = failure_of(refusing.url());
    QVERIFY2(error.find("answered 200 with an error: model not loaded") != std::string::npos, error.c_str());
  }

  void silence_ends_at_its_limit() {
    const ScriptedServer server([](const ScriptedRequest&) { return std::optional<std::string>(); });
    const http::ClientLimits impatient{.silence = std::chrono::milliseconds(100)};
    const auto session =
        TargetSession::open({.url = server.url(), .model = {}, .api_key = {}}, impatient, [] { return true; });
    QCOMPARE(session.error().code, ErrorCode::deadline_exceeded);
  }

  void a_stop_does_not_wait_for_a_silent_server() {
    const auto stream = streams({});
    const ScriptedServer server([stream](const ScriptedRequest& request) -> std::optional<std::string> {
      if (request.body.find("\"stream\":true") != std::string::npos) return std::nullopt;
      return stream(request);
    });
    const SweepReport report = swept(plan_for(server.url()), [&](const SweepProgress&, bool) {
      const auto requests = server.requests();
      const bool is_silent = !requests.empty() && requests.back().body.find("\"stream\":true") != std::string::npos;
      return is_silent ? SweepDecision::stop : SweepDecision::go_on;
    });
    QVERIFY(report.stopped);
    QVERIFY(report.cells.empty());
  }

  void a_key_is_sent_and_kept_nowhere() {
    ServerFixture::Options options;
    options.server.api_key = "secret-key";
    ServerFixture server(options);
    server.engine().answer_with(std::string(64, 'x'));
    SweepPlan plan = plan_for(url_of(server));
    QVERIFY(swept(plan).cells.at(0).error.find("401") != std::string::npos);
    plan.target.api_key = "secret-key";
    const SweepReport report = swept(plan);
    QVERIFY2(report.cells.at(0).error.empty(), report.cells.at(0).error.c_str());
    for (const std::string& text :
         {engine::dump_json(to_json(plan, report)), cell_command(plan, 0), cell_curl(plan, 0, "")}) {
      QVERIFY(text.find("secret") == std::string::npos);
    }
  }

  void a_journal_of_a_target_is_gone_on_with() {
    ServerFixture server;
    server.engine().answer_with(std::string(64, 'x'));
    QTemporaryDir folder;
    const std::string path = folder.filePath("j").toStdString();
    const SweepPlan plan = plan_for(url_of(server), {{"concurrency", {"1", "2", "3"}}});
    {
      auto journal = SweepJournal::open(path, plan, false);
      QVERIFY(run_sweep(plan, *journal, {}, [&](const SweepProgress& now, bool) {
                return now.cells_done < 1 ? SweepDecision::go_on : SweepDecision::stop;
              })->stopped);
    }
    const auto kept = SweepJournal::plan_in(path);
    QCOMPARE(kept->target.url, plan.target.url);
    auto journal = SweepJournal::open(path, *kept, true);
    QVERIFY2(journal.has_value(), journal ? "" : journal.error().message.c_str());
    QVERIFY(std::isnan(journal->cells().begin()->second.samples[0][metric_index("kv_usage_peak")]));
    QCOMPARE(run_sweep(*kept, *journal, {}, {})->cells.size(), std::size_t{3});
  }

  void what_a_request_does_not_say_cannot_vary() {
    const auto refused = check(plan_for("http://127.0.0.1:1", {{"block_size", {"8"}}}));
    QCOMPARE(refused.error().where, std::string("block_size"));
    QVERIFY(refused.error().message.find("where the target is started") != std::string::npos);
    QVERIFY(check(plan_for("http://127.0.0.1:1", {{"temperature", {"0"}}, {"concurrency", {"1"}}})).has_value());
  }
};

LATHE_TEST(TargetTest)

}  // namespace target_test
#include "target_test.moc"
