// SPDX-License-Identifier: Apache-2.0
// The server over the real engine loop, its scheduler and its cache; only the model's arithmetic is made up.
#include <QtTest>
#include <condition_variable>
#include <mutex>

#include "app/server/server.h"
#include "app/workbench/request_log.h"
#include "tests/support/bad_bodies.h"
#include "tests/support/fake_loader.h"
#include "tests/support/http_client.h"
#include "tests/support/test_class.h"

namespace real_loop_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;

namespace {

/// Lets the engine make its steps: all of them while it is open, else one for each call of step().
class Gate {
 public:
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void step() {
    const std::lock_guard lock(mutex_);
    ++n_steps_;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ || n_steps_ > 0; });
    if (!open_) --n_steps_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int n_steps_ = 0;
};

struct LoopServer {
  explicit LoopServer(int n_blocks = 64) {
    script->engine.n_blocks = n_blocks;
    script->runner->before_run = [gate = gate](const auto&) { gate->pass(); };
    loaded = models->load(tests::fake_options()).has_value() && models->wait().has_value();
    app::ServerOptions options;
    options.port = 0;
    started = server->start(options).has_value();
  }
  ~LoopServer() { gate->set_open(true); }

  HttpReply post(std::string_view path, std::string_view body) const { return HttpClient(port()).post(path, body); }
  std::uint16_t port() const { return server->status().port; }
  engine::EngineSnapshot snapshot() const { return *models->lease()->snapshot(); }

  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::shared_ptr<tests::LoaderScript> script = std::make_shared<tests::LoaderScript>();
  std::unique_ptr<app::Log> log = app::make_log({.to_stderr = false, .level = app::LogLevel::debug, .file = {}});
  std::unique_ptr<app::ModelSlot> models = app::make_model_slot(tests::fake_loader(script));
  std::unique_ptr<app::RequestLog> requests = app::make_request_log(*models);
  std::unique_ptr<app::Server> server = app::make_server(*models, *requests, *log);
  bool loaded = false, started = false;
};

std::string ids_body(std::size_t n) {
  return engine::dump_json(Json{{"prompt", std::vector<int>(n, 7)}, {"add_special_tokens", false}, {"max_tokens", 4}});
}

/// All that a stream of completions says, up to its end; the error when it has one.
std::string text_of_stream(HttpClient& client) {
  std::string text;
  while (const auto event = client.read_event()) {
    if (*event == "[DONE]") return text;
    const Json json = engine::parse_json(*event, "event").value();
    if (json.contains("error")) return engine::dump_json(json);
    text += json["choices"][0]["text"].get<std::string>();
  }
  return "cut off after: " + text;
}

constexpr const char* kWitness = R"({"prompt":"abc","temperature":0,"max_tokens":150,"ignore_eos":true,"stream":true})";

std::string witness_text(std::uint16_t port) {
  HttpClient client(port);
  client.send(client.request("POST", "/v1/completions", kWitness));
  return client.read_head().status == 200 ? text_of_stream(client) : "no stream";
}

}  // namespace

class RealLoopTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void S9_a_prompt_beyond_the_pool_is_400_with_both_numbers();
  void S9_the_longest_prompt_that_the_pool_holds_is_served();
  void sums_of_metrics_are_sums_of_usage();
  void D5_a_witness_is_untouched_by_bad_requests();

 private:
  /// Posts everything that the catalogue refuses; `between` is called after each. Returns how many were not refused.
  static int post_all_bad(const LoopServer& server, const std::function<void()>& between);
};

void RealLoopTest::S9_a_prompt_beyond_the_pool_is_400_with_both_numbers() {
  const LoopServer server(8);  // of 4 tokens, in a context of 200
  QVERIFY(server.loaded && server.started);
  const HttpReply completion = server.post("/v1/completions", ids_body(40));
  const HttpReply chat = server.post(
      "/v1/chat/completions",
      engine::dump_json(Json{{"messages", {{{"role", "user"}, {"content", std::string(40, 'a')}}}}, {"max_tokens", 4}}));
  for (const HttpReply& reply : {completion, chat}) {
    QCOMPARE(reply.status, 400);
    const std::string message = reply.json()["error"]["message"].get<std::string>();
    QVERIFY2(message.find("8 blocks of 4 tokens") != std::string::npos, message.c_str());
    QCOMPARE(reply.json()["error"]["param"], "prompt");
  }
  QVERIFY(completion.body.find("40 tokens") != std::string::npos);
  QCOMPARE(server.snapshot().n_blocks_used, 0);
}

void RealLoopTest::S9_the_longest_prompt_that_the_pool_holds_is_served() {
  const LoopServer server(8);
  const HttpReply reply = server.post("/v1/completions", ids_body(31));
  QCOMPARE(reply.status, 200);
  QCOMPARE(reply.json()["choices"][0]["finish_reason"], "length");  // where the pool ends, not later
  QCOMPARE(reply.json()["usage"]["completion_tokens"], 1);
  QCOMPARE(server.post("/v1/completions", ids_body(32)).status, 400);
}

/// Requests for one answer and for several, found in the cache or not.
void RealLoopTest::sums_of_metrics_are_sums_of_usage() {
  const LoopServer server;
  double n_prompt = 0, n_cached = 0, n_completion = 0;
  const auto add = [&](const Json& usage) {
    n_prompt += usage["prompt_tokens"].get<double>();
    n_completion += usage["completion_tokens"].get<double>();
    n_cached += usage["prompt_tokens_details"]["cached_tokens"].get<double>();
  };
  const char* bodies[] = {R"({"prompt":[3,4,5,6,7,8,9,10,11,12],"max_tokens":4})",
                          R"({"prompt":[3,4,5,6,7,8,9,10,11,12],"max_tokens":4})",
                          R"({"prompt":[3,4,5,6,7,8,9,10,13,14],"max_tokens":3,"n":3})",
                          R"({"prompt":[[3,4,5,6,7,8,9],[9,8,7,6,5,4,3]],"max_tokens":2,"n":2})",
                          R"({"prompt":[3,4,5,6,7,8,9,10],"max_tokens":2,"n":1,"best_of":3})",
                          R"({"prompt":[3,4,5,6,7,8,9,10],"max_tokens":0,"echo":true})",
                          R"({"prompt":[3,4,5,6,7,8,9,10],"max_tokens":0,"echo":true,"logprobs":1})",
                          R"({"prompt":[3,4,5,6,7,8,9,10],"max_tokens":2,"prompt_logprobs":1})"};
  for (const char* body : bodies) {
    const HttpReply reply = server.post("/v1/completions", body);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    add(reply.json()["usage"]);
    Json streamed = Json::parse(body);
    if (streamed.contains("best_of") || streamed.contains("prompt_logprobs")) continue;
    streamed["stream"] = true;
    streamed["stream_options"] = {{"include_usage", true}};
    HttpClient client(server.port());
    client.send(client.request("POST", "/v1/completions", engine::dump_json(streamed)));
    client.read_head();
    while (const auto event = client.read_event()) {
      if (*event == "[DONE]") break;
      const Json chunk = engine::parse_json(*event, "event").value();
      if (!chunk["usage"].is_null()) add(chunk["usage"]);
    }
  }
  server.post("/tokenize", R"({"prompt":"abc"})");
  server.post("/v1/completions", R"({"prompt":[3,4],"typical_p":"x","max_tokens":-3})");

  const std::string text = HttpClient(server.port()).get("/metrics").body;
  const auto metric = [&](const std::string& name, const std::string& label = {}) {
    for (std::size_t at = text.find("\n" + name + "{"); at != text.npos; at = text.find("\n" + name + "{", at + 1)) {
      const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
      if (line.find(label) != line.npos) return std::stod(line.substr(line.rfind(' ')));
    }
    return -1.0;
  };
  QVERIFY(n_cached > 0);
  QCOMPARE(metric("vllm:prompt_tokens_total"), n_prompt);
  QCOMPARE(metric("vllm:prompt_tokens_cached_total"), n_cached);
  QCOMPARE(metric("vllm:prefix_cache_hits_total"), n_cached);
  QCOMPARE(metric("vllm:prompt_tokens_by_source_total", "local_compute"), n_prompt - n_cached);
  QCOMPARE(metric("vllm:prompt_tokens_by_source_total", "local_cache_hit"), n_cached);
  QCOMPARE(metric("vllm:generation_tokens_total"), n_completion);
  QCOMPARE(metric("vllm:request_prompt_tokens_sum"), n_prompt);
  QCOMPARE(metric("vllm:request_prompt_tokens_count"), 16.0);
  QCOMPARE(metric("vllm:request_generation_tokens_sum"), n_completion);
  QCOMPARE(metric("vllm:request_generation_tokens_count"),
           metric("vllm:request_success_total", "\"stop\"") + metric("vllm:request_success_total", "\"length\""));
  QVERIFY(metric("vllm:prefix_cache_queries_total") < n_prompt);  // prompt_logprobs ask nothing of the cache
}

int RealLoopTest::post_all_bad(const LoopServer& server, const std::function<void()>& between) {
  int n_served = 0;
  const auto count = [&](int status) {
    n_served += status == 400 || status == 413 ? 0 : 1;
    between();
  };
  for (const tests::BadFraming& bad : tests::bad_framings()) {
    HttpClient client(server.port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: " + client.host() + "\r\nContent-Type: application/json\r\n" +
                bad.text);
    count(client.read_reply().status);
  }
  for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
    for (const tests::BadJson& bad : tests::bad_json()) count(server.post(path, bad.body).status);
  }
  for (const tests::BadFields& bad : tests::bad_fields()) {
    count(server.post("/v1/completions", tests::completion_with(bad.text)).status);
    if (bad.in_chat) count(server.post("/v1/chat/completions", tests::chat_with(bad.text)).status);
  }
  for (const std::string& prompt : tests::bad_prompts()) {
    const std::string fields = R"({"add_special_tokens":false,"prompt":)";
    count(server.post("/v1/completions", fields + prompt + "}").status);
  }
  for (const std::size_t n : {200u, 201u, 2000u}) count(server.post("/v1/completions", ids_body(n)).status);
  count(server.post("/v1/completions", std::string((32u << 20) + 1, ' ')).status);
  return n_served;
}

/// D5: one bad request costs one request.
void RealLoopTest::D5_a_witness_is_untouched_by_bad_requests() {
  const LoopServer server;
  QVERIFY(server.loaded && server.started);
  const std::string golden = witness_text(server.port());
  QVERIFY2(golden.size() >= 150, golden.c_str());

  // Every step of the engine waits for a bad request: the witness writes while they are refused.
  server.gate->set_open(false);
  server.gate->step();
  HttpClient witness(server.port());
  witness.send(witness.request("POST", "/v1/completions", kWitness));
  QCOMPARE(witness.read_head().status, 200);
  const int n_served = post_all_bad(server, [&server] { server.gate->step(); });
  server.gate->set_open(true);  // for what is left of it
  QCOMPARE(n_served, 0);
  QCOMPARE(text_of_stream(witness), golden);
  witness.close();
  QTRY_COMPARE(server.server->status().n_connections, 0);
  QCOMPARE(server.snapshot().n_blocks_used, 0);
  QCOMPARE(witness_text(server.port()), golden);
}

LATHE_TEST(RealLoopTest)

}  // namespace real_loop_test
#include "real_loop_test.moc"
