// SPDX-License-Identifier: Apache-2.0
// Answers of servers as a sweep measures them: those that fail its cell, and odd ones that do not.
#include <QTest>

#include "app/bench/sweep/load/target_load.h"
#include "tests/app/bench/sweep/target_plan.h"
#include "tests/support/test_class.h"

namespace target_answers_test {

using namespace lathe;
using namespace lathe::app;
using namespace lathe::tests;

class TargetAnswersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void what_goes_wrong_is_the_reason_of_a_failed_cell_data() {
    QTest::addColumn<QString>("answer");
    QTest::addColumn<QString>("reason");
    const auto row = [](const char* name, const std::string& answer, const char* reason) {
      QTest::newRow(name) << QString::fromStdString(answer) << QString::fromLatin1(reason);
    };
    row("busy", http_answer(503, R"({"error":{"message":"out of KV blocks"}})"), "503: out of KV blocks");
    row("bad", http_answer(400, R"({"detail":"max_tokens is too large"})"), "400: max_tokens is too large");
    row("plain words", http_answer(500, "Internal Server Error"), "500: Internal Server Error");
    row("no events", http_answer(200, R"({"choices":[{"text":"a"}]})"), "does not stream");
    row("an error instead of a stream", http_answer(200, R"({"error":{"message":"model not loaded"}})"),
        "answered 200 with an error: model not loaded");
    row("an error of the old form instead of a stream", http_answer(200, R"({"object":"error","message":"no model"})"),
        "answered 200 with an error: no model");
    row("no end", http_stream({token("a")}), "was cut off");
    row("cut event", http_stream({token("a")}) + "data: {\"choi", "was cut off");
    row("no JSON", http_stream({"what?"}), "not a JSON object: what?");
    row("an error in the stream", http_stream({token("a"), R"({"error":{"message":"the engine died"}})"}),
        "the engine died");
    row("an error of the old form",
        http_stream({token("a"), R"({"object":"error","message":"no memory left","code":500})", "[DONE]"}),
        "no memory left");
    row("an error in words", http_stream({token("a"), R"({"error":"no memory left","error_type":"generation"})"}),
        "no memory left");
    row("an error by its event", http_stream({token("a")}) + "event: error\ndata: {\"message\":\"no memory left\"}\n\n",
        "no memory left");
    row("an error by its event, in words", http_stream({token("a")}) + "event: error\ndata: no memory left\n\n",
        "no memory left");
    row("an error beside a choice",
        http_stream({R"({"choices":[{"text":"a"}],"error":{"message":"no memory left"}})", "[DONE]"}), "no memory left");
    row("an error behind the end", http_stream({token("a"), kUsage, R"({"error":{"message":"no memory left"}})"}),
        "no memory left");
    row("an answer that failed", http_stream({token("a"), R"({"choices":[{"text":"","finish_reason":"error"}]})", "[DONE]"}),
        "finish_reason \"error\"");
    row("busy for a while",
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 26\r\n\r\n{\"detail\":\"queue is full\"}",
        "429: queue is full (Retry-After: 7)");
    row("elsewhere", "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://other/v1/completions\r\nContent-Length: 0\r\n\r\n",
        "307; it redirects to http://other/v1/completions");
    row("compressed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b", "compresses its answers (gzip)");
    row("cut behind its tokens", http_stream({token("a"), token("b"), R"({"choices":[{"text":"c","finish_reason":null}]})"}),
        "was cut off");
    row("cut though its chunks have usage",
        http_stream({R"({"choices":[{"text":"a"}],"usage":{"prompt_tokens":12,"completion_tokens":1}})"}), "was cut off");
    row("no token", http_stream({kUsage, "[DONE]"}), "had no token");
    row("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "sent no answer");
    row("a head and no more", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:", "cut off its answer");
  }
  void what_goes_wrong_is_the_reason_of_a_failed_cell() {
    QFETCH(QString, answer);
    QFETCH(QString, reason);
    const ScriptedServer server(streams(answer.toStdString()));
    const std::string error = failure_of(server.url());
    QVERIFY2(QString::fromStdString(error).contains(reason), error.c_str());
  }

  /// Two tokens each, told by the server or counted.
  void odd_streams_are_measured_data() {
    QTest::addColumn<QString>("answer");
    QTest::addColumn<bool>("has_usage");
    const auto row = [](const char* name, const std::string& answer, bool has_usage = true) {
      QTest::newRow(name) << QString::fromStdString(answer) << has_usage;
    };
    const std::string a = token("a"), done = "[DONE]";
    const std::string last = R"({"choices":[{"index":0,"text":"b","finish_reason":"length"}]})";
    const auto with = [](const std::string& delta) { return R"({"choices":[{"index":0,"delta":)" + delta + "}]}"; };
    const auto null_error = [](std::string event) { return event.insert(event.size() - 1, R"(,"error":null)"); };
    row("error: null", http_stream({null_error(a), null_error(last), null_error(kUsage), done}));
    row("error: empty",
        http_stream({a, R"({"choices":[{"text":"b"}],"error":{}})", R"({"choices":[],"error":""})", kUsage, done}));
    row("error: 0", http_stream({a, R"({"choices":[{"text":"b"}],"error":0})", kUsage, done}));
    row("no [DONE]", http_stream({a, last, kUsage}));
    row("no [DONE], usage with the last token",
        http_stream(
            {a, R"({"choices":[{"text":"b","finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":2}})"}));
    row("no finish_reason", http_stream({a, token("b"), kUsage, done}));
    row("no usage", http_stream({a, last, done}), false);
    row("usage: null", http_stream({a, R"({"choices":[{"text":"b","finish_reason":"stop"}],"usage":null})", done}), false);
    row("neither usage nor [DONE]", http_stream({a, last}), false);
    row("no choices with the usage",
        http_stream({a, last, R"({"usage":{"prompt_tokens":12,"completion_tokens":2}})", done}));
    row("choices: null with the usage",
        http_stream({a, last, R"({"choices":null,"usage":{"prompt_tokens":12,"completion_tokens":2}})", done}));
    row("no empty line behind the last event", http_stream({a, last, kUsage}) + "data: [DONE]");
    row("no line end behind the last usage", http_stream({a, last}) + "data: " + kUsage);
    row("comments and empty data", http_stream({}) + ": ping\n\ndata: " + a + "\n\n:\ndata:\n\ndata: " + last +
                                       "\n\ndata: " + kUsage + "\n\ndata: [DONE]\n\n");
    row("CR LF and no blanks", http_stream({}) + "data:" + a + "\r\n\r\nid: 1\r\nevent: completion\r\ndata:" + last +
                                   "\r\n\r\ndata:" + kUsage + "\r\n\r\ndata:[DONE]\r\n\r\n");
    row("a byte order mark", http_stream({}) +
                                 "\xef\xbb\xbf"
                                 "data: " +
                                 a + "\n\ndata: " + last + "\n\ndata: " + kUsage + "\n\ndata: [DONE]\n\n");
    row("deltas", http_stream({with(R"({"role":"assistant","content":""})"), with(R"({"content":"a"})"),
                               with(R"({"content":"b"})"), kUsage, done}));
    row("reasoning first",
        http_stream({with(R"({"reasoning_content":"a","content":null})"), with(R"({"content":"b"})"), kUsage, done}));
    row("reasoning under both names",
        http_stream({with(R"({"reasoning":"a","reasoning_content":"a"})"), with(R"({"content":"b"})"), kUsage, done}));
    row("a call", http_stream({with(R"({"tool_calls":[{"index":0,"function":{"name":"f"}}]})"),
                               with(R"({"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]})"), kUsage, done}));
    const std::string events = "data: " + a + "\n\ndata: " + last + "\n\ndata: " + kUsage + "\n\ndata: [DONE]\n\n";
    row("HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\n" + events);
    row("behind an interim answer",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + events);
    std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char c : events) chunked += std::string("1\r\n") + c + "\r\n";
    row("chunks of one byte", chunked + "0\r\n\r\n");
    row("no last chunk behind [DONE]", chunked);
  }
  void odd_streams_are_measured() {
    QFETCH(QString, answer);
    QFETCH(bool, has_usage);
    const ScriptedServer server(streams(answer.toStdString()));
    SweepPlan plan = plan_for(server.url());
    plan.warm_up = false;
    plan.repeats = 1;
    const CellResult cell = swept(plan).cells.at(0);
    QVERIFY2(cell.error.empty(), cell.error.c_str());
    QCOMPARE(cell.warnings.empty(), has_usage);
    if (!has_usage) {
      QCOMPARE(cell.warnings[0].guard, std::string_view("without_usage"));
      QCOMPARE(cell.warnings[0].value, 3.0);  // all requests of the plan
      QVERIFY(text_of(cell.warnings[0]).find("without usage") != std::string::npos);
    }
    const auto session = TargetSession::open(plan.target, {}, [] { return true; });
    const std::vector<PlannedRequest> requests = {{.prompt_tokens = 12, .output_tokens = 2, .text = {}}};
    const auto run = run_load(**session, plan.workload, requests, plan.sampling, 1, [] { return true; });
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    QCOMPARE(run->requests[0].usage.n_completion_tokens, std::int64_t{2});
    QCOMPARE(run->requests[0].usage.n_prompt_tokens, std::int64_t{12});
    QCOMPARE(run->requests[0].token_times.size(), std::size_t{2});
  }
};

LATHE_TEST(TargetAnswersTest)

}  // namespace target_answers_test
#include "target_answers_test.moc"
