// SPDX-License-Identifier: Apache-2.0
// Vectors, scores and ranks over HTTP: forms of input and of answers, refusals, clients that leave, an encoder that is
// served.
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>

#include "app/server/embed/vector_json.h"
#include "app/server/embed/vector_request.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/vector_answers.h"
#include "tests/support/verify_has.h"

namespace vectors_test {

using namespace lathe;
using engine::Json;
using tests::floats;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;
using tests::vector_at;

namespace {

/// The floats of base64, by Qt's decoder.
std::vector<float> decoded(const Json& text) {
  const QByteArray bytes = QByteArray::fromBase64(QByteArray::fromStdString(text.get<std::string>()));
  std::vector<float> vector(static_cast<std::size_t>(bytes.size()) / sizeof(float));
  std::copy_n(bytes.data(), vector.size() * sizeof(float), reinterpret_cast<char*>(vector.data()));
  return vector;
}

double length_of(const std::vector<float>& vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * x;
  return std::sqrt(squares);
}

}  // namespace

class VectorsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  // ---- the form of an answer

  void an_answer_has_openais_form() {
    const HttpReply reply = post("/v1/embeddings", {{"model", "fake"}, {"input", {"ab", "c"}}, {"user", "u"}});
    QCOMPARE(reply.status, 200);
    const Json json = reply.json();
    QCOMPARE(json["object"], "list");
    QCOMPARE(json["model"], "fake");
    QVERIFY(json["id"].get<std::string>().starts_with("embd-") && json["created"].get<std::int64_t>() > 0);
    QCOMPARE(json["data"].size(), std::size_t{2});
    QCOMPARE(json["data"][1]["index"], 1);
    QCOMPARE(json["data"][1]["object"], "embedding");
    QCOMPARE(json["data"][1]["embedding"].size(), std::size_t{4});
    QCOMPARE(json["usage"], Json({{"prompt_tokens", 5}, {"total_tokens", 5}}));  // BOS, a, b; BOS, c
    QVERIFY(!json.contains("warnings"));
  }

  void base64_has_the_same_numbers() {
    const Json body = {{"input", {"ab", "some longer text"}}};
    Json encoded = body;
    encoded["encoding_format"] = "base64";
    const Json numbers = post("/v1/embeddings", body).json(), texts = post("/v1/embeddings", encoded).json();
    for (std::size_t i = 0; i < 2; ++i) QCOMPARE(decoded(texts["data"][i]["embedding"]), vector_at(numbers, i));
  }

  void numbers_read_back_as_the_same_floats() {
    const std::vector<float> vector = {0.0F, -0.0F, 1.0F, 1.0F / 3, 1e-38F, -3.4e38F, 1.17549435e-38F, 123456.789F};
    const std::vector<float> read = floats(Json::parse(app::number_list(vector)));
    QVERIFY(std::memcmp(read.data(), vector.data(), vector.size() * sizeof(float)) == 0);
    for (std::size_t n = 0; n <= vector.size(); ++n) {
      const auto some = std::span(vector).first(n);
      const std::vector<float> back = decoded(app::base64_of(some));
      QVERIFY(back.size() == n && (n == 0 || std::memcmp(back.data(), some.data(), n * sizeof(float)) == 0));
    }
  }

  void token_ids_equal_their_text() {
    const std::vector<float> text = vector_at(embed({{"input", "abc"}}), 0);
    QCOMPARE(vector_at(embed({{"input", {256, 97, 98, 99}}}), 0), text);
    const Json lists = embed({{"input", {{256, 97, 98, 99}, {97}}}});
    QCOMPARE(vector_at(lists, 0), text);
    QCOMPARE(vector_at(embed({{"input", "a"}, {"add_special_tokens", false}}), 0), vector_at(lists, 1));
    QCOMPARE(vector_at(embed({{"input", {"abc", {97}}}}), 1), vector_at(lists, 1));
  }

  void routes_answer_with_v1_and_without() {
    for (const char* route : {"/v1/embeddings", "/embeddings", "/pooling", "/v1/pooling"}) {
      QCOMPARE(post(route, {{"input", "a"}}).status, 200);
    }
    for (const char* route : {"/score", "/v1/score"}) QCOMPARE(post(route, {{"text_1", "a"}, {"text_2", "b"}}).status, 200);
    for (const char* route : {"/rerank", "/v1/rerank", "/v2/rerank"}) {
      QCOMPARE(post(route, {{"query", "a"}, {"documents", {"b"}}}).status, 200);
    }
  }

  void pooling_answers_under_vllms_names() {
    const Json json = post("/pooling", {{"input", "ab"}}).json();
    QVERIFY(json["id"].get<std::string>().starts_with("pool-"));
    QCOMPARE(json["data"][0]["object"], "pooling");
    QCOMPARE(floats(json["data"][0]["data"]), vector_at(embed({{"input", "ab"}}), 0));
  }

  void a_text_is_cut_to_the_tokens_that_are_asked_for() {
    const auto same = [&](const Json& body, const Json& ids) {
      return vector_at(embed(body), 0) == vector_at(embed({{"input", ids}}), 0);
    };
    // BOS stays, whichever end of the text is cut.
    QVERIFY(same({{"input", "abcd"}, {"truncate_prompt_tokens", 3}}, {256, 97, 98}));
    QVERIFY(same({{"input", "abcd"}, {"truncate_prompt_tokens", 3}, {"truncation_side", "left"}}, {256, 99, 100}));
    QVERIFY(same({{"input", {97, 98, 99}}, {"truncate_prompt_tokens", 2}}, {97, 98}));
    QVERIFY(same({{"input", "abcd"}, {"truncate_prompt_tokens", 100}}, {256, 97, 98, 99, 100}));
    const Json cut = embed({{"input", std::string(5000, 'a')}, {"truncate_prompt_tokens", -1}});
    QCOMPARE(cut["usage"]["prompt_tokens"], 4096);
  }

  void dimensions_are_those_of_a_matryoshka_model() {
    load_with({.n_dimensions = 4, .is_matryoshka = true});
    const std::vector<float> two = vector_at(embed({{"input", "abcde"}, {"dimensions", 2}}), 0);
    QCOMPARE(two.size(), std::size_t{2});
    QVERIFY(std::fabs(length_of(two) - 1) < 1e-6);
    QVERIFY(length_of(vector_at(embed({{"input", "abcde"}, {"normalize", false}}), 0)) > 1);
  }

  // ---- refusals

  void refusals_name_the_field_data() {
    QTest::addColumn<QString>("body");
    QTest::addColumn<QString>("param");
    QTest::addColumn<int>("status");
    const auto row = [](const char* body, const char* param, int status = 400) {
      QTest::addRow("%.60s", body) << body << param << status;
    };
    row(R"({})", "input");
    row(R"({"input": []})", "input");
    row(R"({"input": 5})", "input");
    row(R"({"input": {"text": "a"}})", "input");
    row(R"({"input": ["a", 5]})", "input[1]");
    row(R"({"input": ["a", []]})", "input[1]");
    row(R"({"input": [97, "a"]})", "input[1]");
    row(R"({"input": [97, 99999]})", "input[1]");
    row(R"({"input": [[97], [98, -1]]})", "input[1][1]");
    row(R"({"input": "", "add_special_tokens": false})", "input");
    row(R"({"input": "a", "encoding_format": "hex"})", "encoding_format");
    row(R"({"input": "a", "dimensions": 2})", "dimensions");
    row(R"({"input": "a", "dimensions": 0})", "dimensions");
    row(R"({"input": "a", "dimensions": "2"})", "dimensions");
    row(R"({"input": "a", "truncate_prompt_tokens": 0})", "truncate_prompt_tokens");
    row(R"({"input": "a", "truncate_prompt_tokens": 4097})", "truncate_prompt_tokens");
    row(R"({"input": "a", "truncation_side": "middle"})", "truncation_side");
    row(R"({"input": "a", "task": "token_embed"})", "task");
    row(R"({"input": "a", "messages": [{"role": "user", "content": "a"}]})", "messages");
    row(R"({"input": "a", "embed_dtype": "int8"})", "embed_dtype");
    row(R"({"input": "a", "model": "other"})", "model", 404);
  }
  void refusals_name_the_field() {
    QFETCH(QString, body);
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/embeddings", body.toStdString());
    QTEST(reply.status, "status");
    QTEST(QString::fromStdString(reply.json()["error"]["param"].get<std::string>()), "param");
  }

  void a_text_that_is_too_long_says_by_how_much() {
    const HttpReply reply = post("/v1/embeddings", {{"input", {"a", std::string(5000, 'a')}}});
    QCOMPARE(reply.status, 400);
    const Json error = reply.json()["error"];
    QCOMPARE(error["code"], "context_length_exceeded");
    VERIFY_HAS(error["message"].get<std::string>(), "4096");
    const HttpReply ids = post("/v1/embeddings", {{"input", std::vector<int>(4097, 97)}});
    VERIFY_HAS(ids.json()["error"]["message"].get<std::string>(), "4097 tokens");
    QCOMPARE(post("/v1/embeddings", {{"input", std::vector<int>(4096, 97)}}).status, 200);
  }

  void more_texts_than_openai_allows_are_refused() {
    QCOMPARE(post("/v1/embeddings", {{"input", std::vector<std::string>(2049, "a")}}).status, 400);
  }

  void rows_of_the_table_are_sound() {
    std::set<std::string_view> names;
    for (const app::KnownField& field : app::vector_fields()) {
      QVERIFY(names.insert(field.name).second);
      if (field.fate == app::FieldFate::alias) QVERIFY(app::find_field(app::vector_fields(), field.as) != nullptr);
      const std::string name(field.name);
      if (field.fate == app::FieldFate::refused) {
        const HttpReply reply = post("/v1/embeddings", {{"input", "a"}, {name, 12345}});
        QVERIFY2(reply.status == 400 && reply.json()["error"]["param"] == name, name.c_str());
      }
      if (field.fate == app::FieldFate::warned) {
        const Json json = post("/v1/embeddings", {{"input", "a"}, {name, 12345}}).json();
        QVERIFY2(json.contains("warnings") && json["warnings"][0]["param"] == name, name.c_str());
      }
      if (field.fate == app::FieldFate::harmless) {
        const Json json = post("/v1/embeddings", {{"input", "a"}, {name, 12345}}).json();
        QVERIFY2(json.contains("data") && !json.contains("warnings"), name.c_str());
      }
    }
  }

  void unknown_fields_and_those_of_other_routes_are_warned_of() {
    const Json json = embed({{"input", "a"}, {"imput", "b"}, {"query", "c"}});
    QCOMPARE(json["warnings"].size(), std::size_t{2});
  }

  // ---- many texts, full queues, clients that leave

  /// The queue holds 4 + 2 requests; a list of texts waits for its turn.
  void a_list_longer_than_the_queue_is_answered() {
    tests::FakeModel model;
    model.max_num_seqs = 4;
    model.max_queue = 2;
    fixture_->load(model);
    std::vector<std::string> texts;
    for (int i = 0; i < 500; ++i) texts.push_back("text " + std::to_string(i));
    const Json json = embed({{"input", texts}});
    QCOMPARE(json["data"].size(), std::size_t{500});
    for (const std::size_t i : {0, 77, 499}) QCOMPARE(vector_at(json, i), vector_at(embed({{"input", texts[i]}}), 0));
    QCOMPARE(fixture_->requests().records().size(), std::size_t{4});  // one row for each HTTP request
  }

  void a_full_queue_is_429() {
    fixture_->engine().refuse_submits(engine::Error{engine::ErrorCode::resource_exhausted, "the queue is full", {}});
    const HttpReply reply = post("/v1/embeddings", {{"input", "a"}});
    QCOMPARE(reply.status, 429);
    QCOMPARE(reply.field("Retry-After"), std::string("1"));
    fixture_->engine().refuse_submits({});
    QCOMPARE(fixture_->leftovers(), std::string());
  }

  void a_client_that_leaves_cancels_its_texts() {
    fixture_->engine().pause();
    {
      HttpClient client(fixture_->port());
      client.send(client.request("POST", "/v1/embeddings", R"({"input": ["a", "b", "c"]})"));
      QVERIFY(fixture_->engine().wait_for_active(3));
      client.reset();
    }
    QVERIFY(fixture_->engine().wait_for_active(0));
    QCOMPARE(fixture_->engine().n_cancelled(), std::uint64_t{3});
    QVERIFY(fixture_->wait_for_row(app::RequestStatus::cancelled));
    fixture_->engine().resume();
    QCOMPARE(fixture_->leftovers(), std::string());
  }

  void a_failed_text_fails_its_request() {
    fixture_->engine().fail_after(0, engine::Error{engine::ErrorCode::resource_exhausted, "no memory", {}});
    const HttpReply reply = post("/v1/embeddings", {{"input", {"a", "b"}}});
    QCOMPARE(reply.status, 429);
    VERIFY_HAS(reply.json()["error"]["message"].get<std::string>(), "no memory");
    QVERIFY(fixture_->wait_for_row(app::RequestStatus::failed));
  }

  void a_server_that_stops_ends_the_request_with_an_error() {
    fixture_->engine().pause();
    HttpClient client(fixture_->port());
    client.send(client.request("POST", "/v1/embeddings", R"({"input": "a"})"));
    QVERIFY(fixture_->engine().wait_for_active(1));
    std::thread stopping([&] { fixture_->server().stop(0); });
    const HttpReply reply = client.read_reply();
    stopping.join();
    QCOMPARE(reply.status, 503);
    VERIFY_HAS(reply.json()["error"]["message"].get<std::string>(), "stopping");
    fixture_->engine().resume();
  }

  void the_table_of_requests_has_a_row() {
    embed({{"input", {"ab", "c"}}});
    QVERIFY(fixture_->wait_for_row(app::RequestStatus::done));
    const app::RequestRecord row = fixture_->requests().records().front();
    QCOMPARE(row.route, std::string("/v1/embeddings"));
    QCOMPARE(row.usage.n_prompt_tokens, std::int64_t{5});
    QVERIFY(row.timings.end_ms > 0);
  }

  // ---- scores and ranks

  void scores_are_cosines() {
    const Json vectors = embed({{"input", {"abc", "abd", "zzz"}}});
    const auto dot = [&](std::size_t i, std::size_t j) {
      const std::vector<float> a = vector_at(vectors, i), b = vector_at(vectors, j);
      double sum = 0;
      for (std::size_t d = 0; d < a.size(); ++d) sum += static_cast<double>(a[d]) * b[d];
      return sum;
    };
    const Json one = post("/score", {{"text_1", "abc"}, {"text_2", {"abd", "zzz"}}}).json();
    QCOMPARE(one["data"].size(), std::size_t{2});
    QCOMPARE(one["data"][1]["object"], "score");
    QCOMPARE(one["data"][0]["score"].get<double>(), dot(0, 1));
    QCOMPARE(one["data"][1]["score"].get<double>(), dot(0, 2));
    QCOMPARE(one["usage"]["prompt_tokens"], 12);
    const Json pairs = post("/v1/score", {{"queries", {"abc", "abd"}}, {"documents", {"zzz", "abc"}}}).json();
    QCOMPARE(pairs["data"][0]["score"].get<double>(), dot(0, 2));
    QCOMPARE(pairs["data"][1]["score"].get<double>(), dot(1, 0));
    QCOMPARE(post("/score", {{"data_1", "abc"}, {"data_2", "abc"}}).json()["data"][0]["score"].get<double>() > 0.999, true);
  }

  void documents_are_ranked() {
    const Json body = {{"query", "abc"}, {"documents", {"zzzz", {{"text", "abc"}}, "abd"}}};
    const Json json = post("/rerank", body).json();
    QVERIFY(json["id"].get<std::string>().starts_with("rerank-"));
    QCOMPARE(json["results"].size(), std::size_t{3});
    QCOMPARE(json["results"][0]["index"], 1);
    QCOMPARE(json["results"][0]["document"]["text"], "abc");
    QCOMPARE(json["results"][2]["index"], 0);
    QVERIFY(json["results"][0]["relevance_score"] > json["results"][1]["relevance_score"]);
    Json few = body;
    few["top_n"] = 2;
    few["return_documents"] = false;
    const Json short_list = post("/v2/rerank", few).json();
    QCOMPARE(short_list["results"].size(), std::size_t{2});
    QVERIFY(!short_list["results"][0].contains("document"));
    Json cut = body;
    cut["max_tokens_per_doc"] = 2;
    QCOMPARE(post("/rerank", cut).json()["usage"]["prompt_tokens"], 4 + 3 * 2);
  }

  void pairs_that_do_not_fit_are_refused_data() {
    QTest::addColumn<QString>("route");
    QTest::addColumn<QString>("body");
    QTest::addColumn<QString>("param");
    const auto row = [](const char* route, const char* body, const char* param) {
      QTest::addRow("%s %.60s", route, body) << route << body << param;
    };
    row("/score", R"({"text_1": "a"})", "text_2");
    row("/score", R"({"text_2": "a"})", "text_1");
    row("/score", R"({"text_1": ["a", "b"], "text_2": ["a", "b", "c"]})", "text_1");
    row("/score", R"({"queries": ["a", "b"], "documents": "c"})", "queries");
    row("/score", R"({"text_1": [], "text_2": "a"})", "text_1");
    row("/score", R"({"text_1": "a", "text_2": ["b", 5]})", "text_2[1]");
    row("/score", R"({"text_1": "a", "queries": "b", "text_2": "c"})", "queries");
    row("/rerank", R"({"documents": ["a"]})", "query");
    row("/rerank", R"({"query": "a"})", "documents");
    row("/rerank", R"({"query": "a", "documents": "b"})", "documents");
    row("/rerank", R"({"query": "a", "documents": ["b", {"title": "c"}]})", "documents[1]");
    row("/rerank", R"({"query": "a", "documents": ["b"], "top_n": -1})", "top_n");
    row("/rerank", R"({"query": "a", "documents": ["b"], "max_tokens_per_doc": 0})", "max_tokens_per_doc");
    row("/rerank", R"({"query": "a", "documents": ["b"], "rank_fields": ["title"]})", "rank_fields");
  }
  void pairs_that_do_not_fit_are_refused() {
    QFETCH(QString, route);
    QFETCH(QString, body);
    const HttpReply reply = HttpClient(fixture_->port()).post(route.toStdString(), body.toStdString());
    QCOMPARE(reply.status, 400);
    QTEST(QString::fromStdString(reply.json()["error"]["param"].get<std::string>()), "param");
  }

  // ---- classifiers

  void a_cross_encoder_scores_pairs() {
    tests::FakeModel model;
    model.labels = {.labels = {"LABEL_0"}, .activation = engine::LabelActivation::sigmoid};
    fixture_->load(model);
    const Json json = post("/score", {{"text_1", "ab"}, {"text_2", {"cde", "f"}}}).json();
    // The scripted logit is the number of tokens: BOS and those of both texts.
    QVERIFY(std::fabs(json["data"][0]["score"].get<double>() - 1 / (1 + std::exp(-6.0))) < 1e-6);
    QCOMPARE(json["usage"]["prompt_tokens"], 6 + 4);
    const std::vector<engine::GenerateRequest> submitted = fixture_->engine().submitted();
    QCOMPARE(submitted.front().prompt_token_ids, (std::vector<std::int32_t>{256, 97, 98, 99, 100, 101}));
    QVERIFY(submitted.front().pooling->second_begin == 3 && submitted.front().pooling->classifies);
    const Json raw = post("/score", {{"text_1", "ab"}, {"text_2", "cde"}, {"use_activation", false}}).json();
    QCOMPARE(raw["data"][0]["score"].get<double>(), 6.0);
    const Json cut = post("/score", {{"text_1", "ab"}, {"text_2", "cdefgh"}, {"truncate_prompt_tokens", 5}}).json();
    QCOMPARE(cut["usage"]["prompt_tokens"], 5);
    const Json ranks = post("/rerank", {{"query", "a"}, {"documents", {"b", "bcd", "bc"}}}).json();
    QCOMPARE(ranks["results"][0]["index"], 1);
    QCOMPARE(ranks["results"][2]["index"], 0);
    QCOMPARE(post("/rerank", {{"query", "a"}, {"documents", {"b"}}, {"max_tokens_per_doc", 2}}).status, 400);
  }

  void texts_are_classified() {
    tests::FakeModel model;
    model.labels = {.labels = {"even", "odd"}};
    fixture_->load(model);
    const Json json = post("/classify", {{"input", {"aaa", "bbbb"}}}).json();
    QVERIFY(json["id"].get<std::string>().starts_with("classify-"));
    QCOMPARE(json["data"][0]["label"], "odd");   // 97
    QCOMPARE(json["data"][1]["label"], "even");  // 98
    QCOMPARE(json["data"][0]["num_classes"], 2);
    const std::vector<float> probs = floats(json["data"][0]["probs"]);
    QVERIFY(std::fabs(probs[0] + probs[1] - 1) < 1e-6 && std::fabs(probs[1] - 1 / (1 + std::exp(-2.0))) < 1e-6);
    QCOMPARE(floats(post("/classify", {{"input", "aaa"}, {"use_activation", false}}).json()["data"][0]["probs"]),
             (std::vector<float>{1, 3}));
    const HttpReply scored = post("/score", {{"text_1", "a"}, {"text_2", "b"}});
    QCOMPARE(scored.status, 400);
    VERIFY_HAS(scored.body, "/classify");
  }

  void a_model_without_classifier_gives_no_labels() {
    const HttpReply reply = post("/classify", {{"input", "a"}});
    QCOMPARE(reply.status, 400);
    VERIFY_HAS(reply.body, "no classifier");
  }

  // ---- Ollama

  void ollama_has_its_own_form() {
    const Json json = post("/api/embed", {{"model", "fake:latest"}, {"input", {"ab", "c"}}, {"keep_alive", "5m"}}).json();
    QCOMPARE(json["model"], "fake");
    QCOMPARE(json["embeddings"].size(), std::size_t{2});
    QCOMPARE(floats(json["embeddings"][0]), vector_at(embed({{"input", "ab"}}), 0));
    QCOMPARE(json["prompt_eval_count"], 5);
    QVERIFY(json["total_duration"] > 0);
    const Json older = post("/api/embeddings", {{"model", "fake"}, {"prompt", "ab"}}).json();
    QCOMPARE(floats(older["embedding"]), floats(json["embeddings"][0]));
  }

  void ollama_cuts_long_texts_unless_told_not_to() {
    const std::string text(5000, 'a');
    QCOMPARE(post("/api/embed", {{"input", text}}).json()["prompt_eval_count"], 4096);
    const HttpReply refused = post("/api/embed", {{"input", text}, {"truncate", false}});
    QCOMPARE(refused.status, 400);
    QVERIFY(refused.json()["error"].is_string());
    QCOMPARE(post("/api/embeddings", {{"model", "fake"}}).status, 400);
  }

  void routes_of_text_refuse_an_encoder_data() {
    QTest::addColumn<QString>("route");
    QTest::addColumn<QString>("body");
    const QString message = R"("messages": [{"role": "user", "content": "a"}])";
    QTest::newRow("chat") << "/v1/chat/completions"
                          << "{" + message + "}";
    QTest::newRow("completions") << "/v1/completions"
                                 << R"({"prompt": "a"})";
    QTest::newRow("responses") << "/v1/responses"
                               << R"({"input": "a"})";
    QTest::newRow("messages") << "/v1/messages"
                              << R"({"max_tokens": 5, )" + message + "}";
    QTest::newRow("ollama chat") << "/api/chat"
                                 << "{" + message + "}";
    QTest::newRow("ollama generate") << "/api/generate"
                                     << R"({"prompt": "a"})";
  }
  void routes_of_text_refuse_an_encoder() {
    QFETCH(QString, route);
    QFETCH(QString, body);
    tests::FakeModel model;
    model.generates = false;
    fixture_->load(model);
    const HttpReply reply = HttpClient(fixture_->port()).post(route.toStdString(), body.toStdString());
    QCOMPARE(reply.status, 400);
    VERIFY_HAS(reply.body, "is an encoder");
    VERIFY_HAS(reply.body, "/v1/embeddings");
  }

 private:
  HttpReply post(std::string_view route, const Json& body) { return HttpClient(fixture_->port()).post(route, body); }
  Json embed(const Json& body) { return post("/v1/embeddings", body).json(); }
  void load_with(const engine::VectorInfo& vectors) {
    tests::FakeModel model;
    model.vectors = vectors;
    fixture_->load(model);
  }

  std::unique_ptr<ServerFixture> fixture_;
};

LATHE_TEST(VectorsTest)

}  // namespace vectors_test
#include "vectors_test.moc"
