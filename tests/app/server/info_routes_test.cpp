// SPDX-License-Identifier: Apache-2.0
// Models, tokenization, metrics, and what strangers' text may do in logs and labels.
#include <QtTest>

#include "app/log/printable.h"
#include "app/server/escape.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace info_routes_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class InfoRoutesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void models_lists_the_one_that_is_loaded();
  void a_model_is_found_by_name();
  void a_chosen_name_is_the_only_one();
  void tokenize_counts_and_lists();
  void tokenize_shows_texts_when_asked();
  void tokenize_renders_messages();
  void tokenize_without_anything_is_400();
  void detokenize_is_the_inverse();
  void S8_detokenize_checks_ids();
  void metrics_have_vllms_names();
  void metrics_tell_the_share_of_a_device();
  void metrics_tell_of_layers_with_a_window();
  void metrics_tell_of_snapshots_of_states();
  void metrics_are_prometheus_text();
  void kv_usage_is_zero_when_idle();
  void finished_requests_are_counted_by_reason();
  void histograms_are_cumulative();
  void running_requests_are_gauged();
  void S22_text_of_strangers_is_escaped_data();
  void S22_text_of_strangers_is_escaped();
  void S22_model_name_cannot_break_a_label();
  void S22_client_name_cannot_break_the_table();
  void S22_labels_are_bounded();

 private:
  HttpReply get(std::string_view path) { return HttpClient(fixture_->port()).get(path); }
  HttpReply post(std::string_view path, const Json& body) { return HttpClient(fixture_->port()).post(path, body); }
  /// The value of one sample line of /metrics; -1 when it is not there.
  double metric(const std::string& name, const std::string& label = {});

  std::unique_ptr<ServerFixture> fixture_;
};

double InfoRoutesTest::metric(const std::string& name, const std::string& label) {
  const std::string text = get("/metrics").body;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const bool same = line.starts_with(name + "{") || line.starts_with(name + " ");
    if (same && line.find(label) != line.npos) return std::stod(line.substr(line.rfind(' ')));
  }
  return -1;
}

void InfoRoutesTest::models_lists_the_one_that_is_loaded() {
  const Json json = get("/v1/models").json();
  QCOMPARE(json["object"], "list");
  QCOMPARE(json["data"].size(), std::size_t(1));
  QCOMPARE(json["data"][0]["id"], "fake");
  QCOMPARE(json["data"][0]["max_model_len"], 4096);
  QCOMPARE(json["data"][0]["permission"][0]["object"], "model_permission");
}

void InfoRoutesTest::a_model_is_found_by_name() {
  QCOMPARE(get("/v1/models/fake").json()["id"], "fake");
  QCOMPARE(get("/v1/models/other").status, 404);
  QCOMPARE(get("/v1/models/").json()["data"][0]["id"], "fake");  // a trailing slash is read over
}

void InfoRoutesTest::a_chosen_name_is_the_only_one() {
  fixture_.reset();
  ServerFixture::Options options;
  options.server.model_name = "house-model";
  fixture_ = std::make_unique<ServerFixture>(options);
  QCOMPARE(get("/v1/models").json()["data"][0]["id"], "house-model");
  QCOMPARE(get("/v1/models/fake").status, 404);
  QCOMPARE(post("/v1/completions", tests::completion_body("a", {{"model", "house-model"}})).json()["model"], "house-model");
  QCOMPARE(post("/v1/completions", tests::completion_body("a", {{"model", "fake"}})).status, 404);
  QVERIFY(metric("vllm:num_requests_running", "model_name=\"house-model\"") >= 0);
}

void InfoRoutesTest::tokenize_counts_and_lists() {
  const Json json = post("/tokenize", {{"prompt", "ab"}}).json();
  QCOMPARE(json["count"], 3);
  QCOMPARE(json["tokens"], Json({256, 97, 98}));
  QCOMPARE(json["max_model_len"], 4096);
  QVERIFY(json["token_strs"].is_null());
  QCOMPARE(post("/tokenize", {{"prompt", "ab"}, {"add_special_tokens", false}}).json()["tokens"], Json({97, 98}));
}

void InfoRoutesTest::tokenize_shows_texts_when_asked() {
  QCOMPARE(post("/tokenize", {{"prompt", "ab"}, {"return_token_strs", true}}).json()["token_strs"], Json({"<s>", "a", "b"}));
}

void InfoRoutesTest::tokenize_renders_messages() {
  const Json messages = {{{"role", "user"}, {"content", "a"}}};
  QCOMPARE(post("/tokenize", {{"messages", messages}}).json()["tokens"], Json({258, 97, 262, 259}));
  QCOMPARE(post("/tokenize", {{"messages", messages}, {"add_generation_prompt", false}}).json()["count"], 3);
}

void InfoRoutesTest::tokenize_without_anything_is_400() {
  QCOMPARE(post("/tokenize", Json::object()).status, 400);
  QCOMPARE(post("/tokenize", {{"prompt", 5}}).status, 400);
}

void InfoRoutesTest::detokenize_is_the_inverse() {
  QCOMPARE(post("/detokenize", {{"tokens", {97, 0xC3, 0xA4}}}).json()["prompt"], "aä");
  QCOMPARE(post("/detokenize", {{"tokens", Json::array()}}).json()["prompt"], "");
}

void InfoRoutesTest::S8_detokenize_checks_ids() {
  QCOMPARE(post("/detokenize", {{"tokens", {97, 263}}}).json()["error"]["param"], "tokens[1]");
  for (const std::int64_t id : {std::int64_t(-1), std::int64_t(263), std::int64_t(1) << 31, INT64_MIN}) {
    const HttpReply reply = post("/detokenize", {{"tokens", {id}}});
    QCOMPARE(reply.status, 400);
    QCOMPARE(reply.json()["error"]["param"], "tokens[0]");
  }
  QCOMPARE(fixture_->leftovers(), std::string());
  QCOMPARE(post("/detokenize", Json::object()).status, 400);
}

void InfoRoutesTest::metrics_have_vllms_names() {
  const std::string text = get("/metrics").body;
  for (const char* name : {"vllm:num_requests_running",
                           "vllm:num_requests_waiting",
                           "vllm:kv_cache_usage_perc",
                           "vllm:prompt_tokens_total",
                           "vllm:generation_tokens_total",
                           "vllm:num_preemptions_total",
                           "vllm:prefix_cache_queries_total",
                           "vllm:prefix_cache_hits_total",
                           "vllm:request_success_total",
                           "vllm:time_to_first_token_seconds_bucket",
                           "vllm:inter_token_latency_seconds_sum",
                           "vllm:time_per_output_token_seconds_count",
                           "vllm:e2e_request_latency_seconds_bucket",
                           "vllm:request_queue_time_seconds_bucket",
                           "vllm:cache_config_info",
                           "lathe:padding_tokens_total",
                           "lathe:kv_cache_reserved_tokens",
                           "lathe:kv_cache_unfilled_tokens",
                           "lathe:kv_cache_held_token_steps_total",
                           "lathe:kv_cache_reserved_token_steps_total",
                           "lathe:kv_cache_unfilled_token_steps_total"}) {
    QVERIFY2(text.find("\n" + std::string(name) + "{model_name=\"fake\",engine=\"0\"") != std::string::npos, name);
  }
}

void InfoRoutesTest::metrics_tell_the_share_of_a_device() {
  QVERIFY(get("/metrics").body.find("gpu_memory_utilization") == std::string::npos);
  ServerFixture::Options options;
  options.model.division = engine::DeviceDivision{.utilization = 0.85, .total = 1 << 30};
  fixture_ = std::make_unique<ServerFixture>(std::move(options));
  QVERIFY(get("/metrics").body.find("enable_prefix_caching=\"True\",gpu_memory_utilization=\"0.85\"} 1") !=
          std::string::npos);
}

void InfoRoutesTest::metrics_tell_of_layers_with_a_window() {
  QVERIFY(get("/metrics").body.find("lathe:kv_window_blocks") == std::string::npos);
  ServerFixture::Options options;
  options.model.n_window_blocks = 24;
  fixture_ = std::make_unique<ServerFixture>(std::move(options));
  QCOMPARE(metric("lathe:kv_window_blocks", R"(window="512",state="used")"), 0.0);
  QCOMPARE(metric("lathe:kv_window_blocks", R"(window="512",state="free")"), 24.0);
}

void InfoRoutesTest::metrics_tell_of_snapshots_of_states() {
  QVERIFY(get("/metrics").body.find("lathe:state_s") == std::string::npos);
  ServerFixture::Options options;
  options.model.n_snapshots = 24;
  fixture_ = std::make_unique<ServerFixture>(std::move(options));
  QCOMPARE(metric("lathe:state_slots", R"(state="free")"), 4.0);
  QCOMPARE(metric("lathe:state_snapshots", R"(state="held")"), 1.0);
  QCOMPARE(metric("lathe:state_snapshots", R"(state="free")"), 23.0);
  QCOMPARE(metric("lathe:state_snapshot_bytes"), 1000.0);
  QCOMPARE(metric("lathe:state_snapshots_taken_total"), 3.0);
  QCOMPARE(metric("lathe:state_snapshot_hits_total"), 2.0);
  QCOMPARE(metric("lathe:state_snapshots_evicted_total"), 2.0);
}

void InfoRoutesTest::metrics_are_prometheus_text() {
  const HttpReply reply = get("/metrics");
  QCOMPARE(reply.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  QVERIFY(reply.body.ends_with('\n'));
  for (const QByteArray& line : QByteArray::fromStdString(reply.body).trimmed().split('\n')) {
    if (line.startsWith('#')) {
      QVERIFY(line.startsWith("# HELP ") || line.startsWith("# TYPE "));
    } else {
      bool is_number = false;
      line.mid(line.lastIndexOf(' ') + 1).toDouble(&is_number);
      QVERIFY2(is_number, line.constData());
    }
  }
}

void InfoRoutesTest::kv_usage_is_zero_when_idle() {
  post("/v1/completions", {{"prompt", "ab"}});
  QVERIFY(fixture_->engine().wait_for_active(0));
  QCOMPARE(metric("vllm:kv_cache_usage_perc"), 0.0);
}

void InfoRoutesTest::finished_requests_are_counted_by_reason() {
  post("/v1/completions", {{"prompt", "ab"}});
  post("/v1/completions", {{"prompt", "ab"}, {"max_tokens", 1}});
  QCOMPARE(metric("vllm:request_success_total", "finished_reason=\"stop\""), 1.0);
  QCOMPARE(metric("vllm:request_success_total", "finished_reason=\"length\""), 1.0);
  QCOMPARE(metric("vllm:generation_tokens_total"), 4.0);
  QTRY_VERIFY(metric("http_requests_total", "status=\"2xx\"") >= 5);
}

void InfoRoutesTest::histograms_are_cumulative() {
  for (int i = 0; i < 3; ++i) post("/v1/completions", {{"prompt", "ab"}});
  QCOMPARE(metric("vllm:time_to_first_token_seconds_count"), 3.0);
  QCOMPARE(metric("vllm:time_to_first_token_seconds_bucket", "le=\"+Inf\""), 3.0);
  QVERIFY(metric("vllm:time_to_first_token_seconds_bucket", "le=\"0.001\"") <=
          metric("vllm:time_to_first_token_seconds_bucket", "le=\"10\""));
}

void InfoRoutesTest::running_requests_are_gauged() {
  fixture_->engine().pause();
  HttpClient client(fixture_->port());
  client.send(client.request("POST", "/v1/completions", R"({"prompt":"ab"})"));
  QVERIFY(fixture_->engine().wait_for_active(1));
  QTRY_COMPARE(metric("vllm:num_requests_running"), 1.0);
  QVERIFY(metric("vllm:kv_cache_usage_perc") > 0);
}

void InfoRoutesTest::S22_text_of_strangers_is_escaped_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QByteArray>("shown");
  QTest::newRow("plain") << QByteArray("curl/8 ä") << QByteArray("curl/8 ä");
  QTest::newRow("newline") << QByteArray("a\nb\r") << QByteArray("a\\nb\\r");
  QTest::newRow("ANSI") << QByteArray("\x1b[31m") << QByteArray("\\x1b[31m");
  QTest::newRow("NUL") << QByteArray("a\0b", 3) << QByteArray("a\\x00b");
  QTest::newRow("C1 control") << QByteArray("\xc2\x9b") << QByteArray("\\xc2\\x9b");
  QTest::newRow("broken UTF-8") << QByteArray("\xff\xc3") << QByteArray("\\xff\\xc3");
  QTest::newRow("overlong") << QByteArray("\xc0\xaf") << QByteArray("\\xc0\\xaf");
}

void InfoRoutesTest::S22_text_of_strangers_is_escaped() {
  QFETCH(QByteArray, text);
  QFETCH(QByteArray, shown);
  QCOMPARE(QByteArray::fromStdString(app::printable(text.toStdString())), shown);
}

void InfoRoutesTest::S22_model_name_cannot_break_a_label() {
  QCOMPARE(app::label_value("a\"} 1\nb\\"), "a\\\"} 1\\\\nb\\\\");
  tests::FakeModel model;
  model.name = "evil\"} 1\nvllm:x{y=\"";
  fixture_->load(model);
  QVERIFY(get("/metrics").body.find("\nvllm:x") == std::string::npos);
}

void InfoRoutesTest::S22_client_name_cannot_break_the_table() {
  HttpClient(fixture_->port()).get("/nowhere", "User-Agent: " + std::string(1000, 'x') + "\r\n");
  QVERIFY(fixture_->requests().records().front().client.size() < 200);
}

void InfoRoutesTest::S22_labels_are_bounded() {
  HttpClient client(fixture_->port());
  const std::string before = client.get("/metrics").body;
  for (int i = 0; i < 50; ++i) client.get("/path" + std::to_string(i));
  const std::string after = client.get("/metrics").body;
  QCOMPARE(std::count(after.begin(), after.end(), '\n'), std::count(before.begin(), before.end(), '\n'));
}

LATHE_TEST(InfoRoutesTest)

}  // namespace info_routes_test
#include "info_routes_test.moc"
