// SPDX-License-Identifier: Apache-2.0
// Models that give vectors, labels and scores, served: alone, next to a chat model, and a chat model itself.
#include <QtTest>
#include <thread>

#include "app/server/server.h"
#include "app/workbench/request_log.h"
#include "engine/api/embed.h"
#include "tests/support/encoder_folder.h"
#include "tests/support/http_client.h"
#include "tests/support/patience.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/vector_answers.h"
#include "tests/support/verify_has.h"

namespace encoder_server_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::vector_at;

namespace {

/// A server over a real engine.
struct ModelServer {
  explicit ModelServer(const std::string& path, const std::string& embedding_model = {}) {
    engine::EngineOptions options;
    options.model = path;
    options.dtype = "float32";
    options.embedding_model = embedding_model;
    loaded = models->load(options).has_value() && models->wait().has_value();
    app::ServerOptions server_options;
    server_options.port = 0;
    started = server->start(server_options).has_value();
  }
  HttpReply post(std::string_view route, const Json& body) const { return HttpClient(port()).post(route, body); }
  HttpReply get(std::string_view route) const { return HttpClient(port()).get(route); }
  std::uint16_t port() const { return server->status().port; }

  std::unique_ptr<app::Log> log = app::make_log({.to_stderr = false, .level = app::LogLevel::debug, .file = {}});
  std::unique_ptr<app::ModelSlot> models =
      app::make_model_slot([](const auto& options, const auto& observer) { return engine::load_engine(options, observer); });
  std::unique_ptr<app::RequestLog> requests = app::make_request_log(*models);
  std::unique_ptr<app::Server> server = app::make_server(*models, *requests, *log);
  bool loaded = false, started = false;
};

}  // namespace

class EncoderServerTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_encoder_is_served_alone() {
    const tests::EncoderFolder folder("xlm-roberta");
    const ModelServer server(folder.path());
    QVERIFY(server.loaded && server.started);
    engine::EngineOptions options;
    options.model = folder.path();
    options.dtype = "float32";
    const auto embedder = engine::open_embedder(options).value();
    const Json json = server.post("/v1/embeddings", {{"input", {{5, 6, 7}, {8, 9}}}}).json();
    QCOMPARE(vector_at(json, 0), embedder->embed(std::vector<std::int32_t>{5, 6, 7}).value());
    QCOMPARE(vector_at(json, 1), embedder->embed(std::vector<std::int32_t>{8, 9}).value());
    const Json text = server.post("/v1/embeddings", {{"input", "t5 t6"}}).json();
    const auto ids = embedder->tokenizer().value()->encode("t5 t6", true, false).value();
    QCOMPARE(vector_at(text, 0), embedder->embed(ids).value());
    QCOMPARE(server.get("/health").status, 200);
    const std::vector<app::DialectState> dialects = server.server->status().dialects;
    VERIFY_HAS(dialects.front().curl, "/v1/embeddings");
    const Json shown = server.post("/api/show", {{"model", json["model"]}}).json();
    QCOMPARE(shown["capabilities"], Json({"embedding"}));
    QCOMPARE(server.get("/api/tags").json()["models"][0]["capabilities"], Json({"embedding"}));
  }

  /// Bit by bit, whatever batches the requests of the clients have made.
  void clients_at_once_get_what_each_gets_alone() {
    const tests::EncoderFolder folder("bert");
    const ModelServer server(folder.path());
    QVERIFY(server.loaded && server.started);
    constexpr std::size_t n_clients = 16;
    const auto body_of = [](std::size_t i) {
      Json list = Json::array();
      for (std::size_t j = 0; j < 8; ++j)
        list.push_back(std::vector<int>(1 + (5 * i + 3 * j) % 60, static_cast<int>(5 + i + j)));
      return Json{{"input", list}};
    };
    std::vector<Json> answers(n_clients);
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < n_clients; ++i) {
      clients.emplace_back([&, i] { answers[i] = server.post("/v1/embeddings", body_of(i)).json(); });
    }
    for (std::thread& client : clients) client.join();
    for (std::size_t i = 0; i < n_clients; ++i) {
      QCOMPARE(answers[i]["data"], server.post("/v1/embeddings", body_of(i)).json()["data"]);
    }
  }

  void a_model_for_embeddings_answers_next_to_a_chat_model() {
    const tests::EncoderFolder folder("xlm-roberta");
    const ModelServer server(tests::tiny_model_path(), folder.path());
    QVERIFY(server.loaded && server.started);
    const Json models = server.get("/v1/models").json()["data"];
    QCOMPARE(models.size(), std::size_t{2});
    const std::string chat = models[0]["id"], encoder = models[1]["id"];
    const Json json = server.post("/v1/embeddings", {{"model", encoder}, {"input", {{5, 6}}}}).json();
    QCOMPARE(json["model"], encoder);
    QCOMPARE(json["data"][0]["embedding"].size(), std::size_t{48});
    QCOMPARE(server.post("/v1/embeddings", {{"model", chat}, {"input", {{5, 6}}}}).status, 404);
    QCOMPARE(server.post("/v1/completions", {{"model", chat}, {"prompt", "a"}, {"max_tokens", 2}}).status, 200);
    QCOMPARE(server.get("/v1/models/" + encoder).json()["id"], encoder);
    const std::string metrics = server.get("/metrics").body;
    VERIFY_HAS(metrics,
               "vllm:request_success_total{model_name=\"" + encoder + "\",engine=\"1\",finished_reason=\"stop\"} 1");
    QCOMPARE(QString::fromStdString(metrics).count("# TYPE vllm:request_success_total "), 1);
  }

  void a_chat_model_gives_its_last_state() {
    const ModelServer server(tests::tiny_model_path());
    QVERIFY(server.loaded && server.started);
    engine::EngineOptions options;
    options.model = tests::tiny_model_path();
    options.dtype = "float32";
    const auto embedder = engine::open_embedder(options).value();
    const Json json = server.post("/v1/embeddings", {{"input", {5, 6, 7}}}).json();
    QCOMPARE(vector_at(json, 0), embedder->embed(std::vector<std::int32_t>{5, 6, 7}).value());
  }

  /// [CLS] first [SEP] second [SEP], and the logit of that.
  void a_pair_is_encoded_as_bert_reads_it() {
    const tests::EncoderFolder folder("bert-pair");
    const ModelServer server(folder.path());
    QVERIFY(server.loaded && server.started);
    const Json json = server.post("/score", {{"text_1", "t5 t6"}, {"text_2", "t7"}, {"use_activation", false}}).json();
    engine::GenerateRequest request;
    request.prompt_token_ids = {2, 5, 6, 3, 7, 3};
    request.pooling = engine::PoolingParams{.classifies = true, .second_begin = 4};
    const auto handle = server.models->lease()->submit(std::move(request)).value();
    engine::TokenEvent event;
    QVERIFY(handle->wait(event, std::chrono::seconds(tests::kPatienceSeconds)));
    QCOMPARE(static_cast<float>(json["data"][0]["score"].get<double>()), event.vector.front());
    const HttpReply vectors = server.post("/v1/embeddings", {{"input", "t5"}});
    QVERIFY(vectors.status >= 400);
    VERIFY_HAS(vectors.body, "classifier");
  }
};

LATHE_TEST(EncoderServerTest)

}  // namespace encoder_server_test
#include "encoder_server_test.moc"
