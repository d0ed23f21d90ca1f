// SPDX-License-Identifier: Apache-2.0
// Requests whose answer is a vector: joined to batches with others, cancelled, refused, and next to answers of text.
#include <QObject>
#include <QtTest>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "engine/api/embed.h"
#include "tests/support/encoder_folder.h"
#include "tests/support/engine_harness.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"

namespace pooled_requests_test {

using namespace lathe;
using namespace lathe::engine;
using namespace lathe::tests;

namespace {

GenerateRequest pooled(std::vector<std::int32_t> ids, const PoolingParams& pooling = {}) {
  GenerateRequest request;
  request.prompt_token_ids = std::move(ids);
  request.source = "test";
  request.pooling = pooling;
  return request;
}

/// The state that the runner of a Harness gives for a prompt.
std::vector<float> state_of(const std::vector<std::int32_t>& prompt) {
  std::vector<float> logits(64);
  fake_logits(prompt, FakeScript(), logits);
  logits.resize(static_cast<std::size_t>(kFakeStateSize));
  return logits;
}

/// Holds the engine in its first step until open().
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    has_come_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  void await_step() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_come_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false, has_come_ = false;
};

/// An engine that waits in the step of one request.
struct HeldEngine {
  explicit HeldEngine(HarnessOptions options) {
    script->before_run = [this](const BatchPlan& plan) {
      n_seqs.push_back(plan.n_seqs());
      door.pass();
    };
    harness = std::make_unique<Harness>(options, script);
    first = harness->engine->submit(pooled(random_prompt(0, 3))).value();
    door.await_step();
  }
  ~HeldEngine() { door.open(); }

  Door door;
  std::vector<int> n_seqs;  ///< of each step
  std::shared_ptr<FakeScript> script = std::make_shared<FakeScript>();
  std::unique_ptr<Harness> harness;
  RequestHandlePtr first;
};

HarnessOptions encoder_options(std::int64_t max_num_seqs, std::int64_t max_num_batched_tokens) {
  HarnessOptions options;
  options.engine.max_num_seqs = max_num_seqs;
  options.engine.max_num_batched_tokens = max_num_batched_tokens;
  options.engine.enable_chunked_prefill = false;
  options.engine.enable_prefix_caching = false;
  options.generates = false;
  return options;
}

std::unique_ptr<Engine> load(const std::string& path, const std::function<void(EngineOptions&)>& change = {}) {
  EngineOptions options;
  options.model = path;
  options.dtype = "float32";
  if (change) change(options);
  auto engine = load_engine(options);
  if (!engine) qCritical("%s: %s", engine.error().where.c_str(), engine.error().message.c_str());
  return engine ? std::move(*engine) : nullptr;
}

std::unique_ptr<Embedder> embedder_of(const std::string& path) {
  EngineOptions options;
  options.model = path;
  options.dtype = "float32";
  return open_embedder(options).value();
}

/// Texts of many lengths, with ids of the fixtures' vocabularies.
std::vector<std::vector<std::int32_t>> many_texts(int n, int longest) {
  std::vector<std::vector<std::int32_t>> texts;
  for (int i = 0; i < n; ++i) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(1 + (7 * i) % longest));
    for (std::size_t j = 0; j < ids.size(); ++j)
      ids[j] = static_cast<std::int32_t>(5 + (31 * j + 13 * static_cast<std::size_t>(i)) % 90);
    texts.push_back(std::move(ids));
  }
  return texts;
}

/// Submits all texts at once.
std::vector<std::vector<float>> vectors_of(Engine& engine, const std::vector<std::vector<std::int32_t>>& texts) {
  std::vector<RequestHandlePtr> handles;
  std::vector<std::vector<float>> vectors;
  for (const auto& ids : texts) handles.push_back(engine.submit(pooled(ids)).value());
  for (const RequestHandlePtr& handle : handles) vectors.push_back(collect(*handle).all.vector);
  return vectors;
}

}  // namespace

class PooledRequestsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_answer_is_the_last_state() {
    Harness harness;
    const auto prompt = random_prompt(1, 10);
    const Answer answer = ask(*harness.engine, pooled(prompt));
    QCOMPARE(answer.all.vector, state_of(prompt));
    QCOMPARE(answer.all.finish_reason, FinishReason::stop);
    QVERIFY(answer.ids().empty() && answer.all.text.empty());
    QCOMPARE(answer.all.usage.n_prompt_tokens, 10);
    QCOMPARE(answer.all.usage.n_completion_tokens, 0);
    QCOMPARE(harness.engine->snapshot()->counters.n_prompt_tokens, std::uint64_t{10});
    QCOMPARE(harness.engine->snapshot()->counters.n_finished_stop, std::uint64_t{1});
    QCOMPARE(harness.engine->snapshot()->counters.n_generation_tokens, std::uint64_t{0});
    QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
  }

  void texts_and_vectors_share_steps() {
    Harness harness;
    std::vector<RequestHandlePtr> texts, vectors;
    for (std::uint64_t i = 0; i < 12; ++i) {
      texts.push_back(harness.engine->submit(greedy_request(random_prompt(i, 9), 20)).value());
      vectors.push_back(harness.engine->submit(pooled(random_prompt(100 + i, 30))).value());
    }
    for (std::uint64_t i = 0; i < 12; ++i) {
      QCOMPARE(collect(*texts[i]).ids(), harness.expected(random_prompt(i, 9), 20));
      QCOMPARE(collect(*vectors[i]).all.vector, state_of(random_prompt(100 + i, 30)));
    }
    QCOMPARE(harness.script->faults(), std::string());
  }

  /// The context needs no room for an answer.
  void a_text_may_fill_the_context() {
    Harness harness;
    const auto prompt = random_prompt(3, 200);
    QCOMPARE(ask(*harness.engine, pooled(prompt)).all.vector, state_of(prompt));
    const auto longer = harness.engine->submit(pooled(random_prompt(3, 201)));
    QVERIFY(!longer && longer.error().code == ErrorCode::invalid_argument);
    VERIFY_HAS(longer.error().message, "201 tokens");
    VERIFY_HAS(longer.error().message, "at most 200");
    QVERIFY(!harness.engine->submit(pooled({})));
  }

  void a_cached_prefix_gives_the_same_vector() {
    Harness harness;
    const auto prompt = random_prompt(4, 40);
    QCOMPARE(ask(*harness.engine, pooled(prompt)).all.vector, state_of(prompt));
    const Answer again = ask(*harness.engine, pooled(prompt));
    QCOMPARE(again.all.vector, state_of(prompt));
    QVERIFY(again.all.usage.n_cached_tokens > 0);
  }

  void waiting_texts_join_one_step() {
    HeldEngine held(encoder_options(8, 64));
    std::vector<RequestHandlePtr> handles;
    for (std::uint64_t i = 1; i <= 6; ++i)
      handles.push_back(held.harness->engine->submit(pooled(random_prompt(i, 10))).value());
    held.door.open();
    for (std::uint64_t i = 1; i <= 6; ++i) QCOMPARE(collect(*handles[i - 1]).all.vector, state_of(random_prompt(i, 10)));
    QCOMPARE(held.n_seqs, (std::vector<int>{1, 6}));
  }

  /// A text that no longer fits into the token budget waits for the next step as a whole.
  void a_step_holds_whole_texts_up_to_its_budget() {
    HeldEngine held(encoder_options(8, 64));
    std::vector<RequestHandlePtr> handles;
    for (std::uint64_t i = 1; i <= 5; ++i)
      handles.push_back(held.harness->engine->submit(pooled(random_prompt(i, 25))).value());
    held.door.open();
    for (std::uint64_t i = 1; i <= 5; ++i) QCOMPARE(collect(*handles[i - 1]).all.vector, state_of(random_prompt(i, 25)));
    QCOMPARE(held.n_seqs, (std::vector<int>{1, 2, 2, 1}));
  }

  void a_cancelled_text_costs_no_step() {
    HeldEngine held(encoder_options(8, 64));
    const auto gone = held.harness->engine->submit(pooled(random_prompt(1, 10))).value();
    const auto kept = held.harness->engine->submit(pooled(random_prompt(2, 10))).value();
    gone->cancel();
    held.door.open();
    QCOMPARE(collect(*gone).all.finish_reason, FinishReason::cancelled);
    QCOMPARE(collect(*kept).all.vector, state_of(random_prompt(2, 10)));
    QCOMPARE(held.n_seqs, (std::vector<int>{1, 1}));
  }

  void a_full_queue_is_refused() {
    HarnessOptions options = encoder_options(2, 64);
    options.engine.max_queue = 1;
    HeldEngine held(options);
    std::vector<RequestHandlePtr> handles;
    for (std::uint64_t i = 1; i <= 2; ++i)
      handles.push_back(held.harness->engine->submit(pooled(random_prompt(i, 10))).value());
    const auto refused = held.harness->engine->submit(pooled(random_prompt(9, 10)));
    QVERIFY(!refused && refused.error().code == ErrorCode::resource_exhausted);
    held.door.open();
    for (const RequestHandlePtr& handle : handles) QVERIFY(!collect(*handle).all.vector.empty());
  }

  void a_state_that_is_not_finite_fails_its_text_alone() {
    const auto script = std::make_shared<FakeScript>();
    script->poison = 50;
    Harness harness({}, script);
    const Answer broken = ask(*harness.engine, pooled({5, 50, 6}));
    QCOMPARE(broken.all.finish_reason, FinishReason::error);
    VERIFY_HAS(broken.all.error.value().message, "not finite");
    QVERIFY(broken.all.vector.empty());
    QCOMPARE(ask(*harness.engine, pooled({5, 6})).all.vector, state_of({5, 6}));
  }

  void dimensions_are_cut_and_the_length_is_divided_out() {
    Harness harness;
    const auto prompt = random_prompt(5, 10);
    const std::vector<float> state = state_of(prompt);
    const std::vector<float> two = ask(*harness.engine, pooled(prompt, {.dimensions = 2})).all.vector;
    QCOMPARE(two, (std::vector<float>{state[0], state[1]}));
    const std::vector<float> unit = ask(*harness.engine, pooled(prompt, {.dimensions = 2, .normalises = true})).all.vector;
    const auto length = static_cast<float>(std::hypot(static_cast<double>(state[0]), static_cast<double>(state[1])));
    QCOMPARE(unit, (std::vector<float>{state[0] / length, state[1] / length}));
    for (const std::int64_t n : {-1, 5}) {
      const auto refused = harness.engine->submit(pooled(prompt, {.dimensions = n}));
      QVERIFY(!refused && refused.error().where == "dimensions");
    }
  }

  void dimensions_need_a_model_that_declares_them() {
    const VectorInfo plain{.n_dimensions = 48};
    QVERIFY(validate({.dimensions = 48}, plain) && validate({}, plain));
    VERIFY_HAS(validate({.dimensions = 16}, plain).error().message, "is_matryoshka");
    const VectorInfo listed{.n_dimensions = 48, .is_matryoshka = true, .matryoshka_dimensions = {16, 48}};
    QVERIFY(validate({.dimensions = 16}, listed).has_value());
    VERIFY_HAS(validate({.dimensions = 32}, listed).error().message, "16, 48");
  }

  void why_events_say_that_a_prompt_was_pooled() {
    Harness harness;
    ask(*harness.engine, pooled(random_prompt(6, 10)));
    std::uint64_t cursor = 0;
    std::string sentences;
    for (const SchedulerEvent& event : harness.engine->events_since(cursor)) sentences += sentence_of(event) + "\n";
    VERIFY_HAS(sentences, "Pooled; 10 prompt tokens computed.");
    VERIFY_HAS(sentences, "Vector: 4 dimensions.");
  }

  void an_encoder_writes_no_text() {
    Harness harness(encoder_options(4, 64));
    const auto refused = harness.engine->submit(greedy_request({5, 6}, 4));
    QVERIFY(!refused && refused.error().code == ErrorCode::unsupported);
    VERIFY_HAS(refused.error().message, "lathe embed");
  }

  // ---- models

  void an_encoder_gives_the_vectors_of_lathe_embed_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"bert", "bert-plain", "roberta", "xlm-roberta"}) QTest::addRow("%s", name) << name;
  }
  /// Bit by bit, whatever else is in the step.
  void an_encoder_gives_the_vectors_of_lathe_embed() {
    QFETCH(QString, name);
    const EncoderFolder folder(name.toStdString());
    const auto engine = load(folder.path());
    QVERIFY(engine != nullptr && !engine->model().generates && engine->model().vectors);
    const auto embedder = embedder_of(folder.path());
    const auto texts = many_texts(150, 100);
    const auto vectors = vectors_of(*engine, texts);
    for (std::size_t i = 0; i < texts.size(); ++i) QCOMPARE(vectors[i], embedder->embed(texts[i]).value());
    QVERIFY(engine->snapshot()->counters.n_finished_stop == 150);
  }

  void an_encoder_reads_its_longest_text() {
    const EncoderFolder folder("xlm-roberta");
    const auto engine = load(folder.path());
    QCOMPARE(engine->model().max_model_len, std::int64_t{126});
    QVERIFY(!ask(*engine, pooled(std::vector<std::int32_t>(126, 5))).all.vector.empty());
    VERIFY_HAS(engine->submit(pooled(std::vector<std::int32_t>(127, 5))).error().message, "at most 126");
  }

  /// In any chunks, with any prefix in the cache, in the same steps as answers.
  void a_decoder_gives_the_vectors_of_lathe_embed() {
    const auto engine = load(tiny_model_path(), [](EngineOptions& options) {
      options.max_num_batched_tokens = 40;
      options.max_num_seqs = 8;
    });
    QVERIFY(engine != nullptr && engine->model().generates && engine->model().vectors);
    const auto embedder = embedder_of(tiny_model_path());
    const auto texts = many_texts(60, 120);
    const auto answer = engine->submit(greedy_request({5, 6, 7}, 100)).value();
    const auto vectors = vectors_of(*engine, texts);
    for (std::size_t i = 0; i < texts.size(); ++i) QCOMPARE(vectors[i], embedder->embed(texts[i]).value());
    QCOMPARE(vectors_of(*engine, {texts[17]}).front(), vectors[17]);
    const auto alone = ask(*engine, greedy_request({5, 6, 7}, 100));
    QCOMPARE(collect(*answer).ids(), alone.ids());
  }

  void a_model_for_embeddings_is_held_next_to_a_chat_model() {
    const EncoderFolder folder("xlm-roberta");
    const auto engine = load(tiny_model_path(), [&](EngineOptions& options) { options.embedding_model = folder.path(); });
    QVERIFY(engine != nullptr && engine->model().generates);
    Engine& embedder = engine->embedder();
    QVERIFY(&embedder != engine.get() && !embedder.model().generates && embedder.model().memory.weights > 0);
    QCOMPARE(vectors_of(embedder, {{5, 6}}).front(),
             embedder_of(folder.path())->embed(std::vector<std::int32_t>{5, 6}).value());
    QVERIFY(!ask(*engine, greedy_request({5, 6}, 4)).ids().empty());
    engine->shut_down(std::chrono::milliseconds(0));
    QVERIFY(!embedder.submit(pooled({5, 6})));
  }

  void logits_are_those_of_transformers_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("n_labels");
    QTest::addRow("a pair, with token types") << "bert-pair" << 1;
    QTest::addRow("labels, with a head of two layers") << "xlm-roberta-labels" << 3;
    QTest::addRow("the last state of a decoder") << "qwen3-score" << 1;
  }
  void logits_are_those_of_transformers() {
    QFETCH(QString, name);
    QFETCH(int, n_labels);
    const EncoderFolder folder(name.toStdString());
    const auto engine = load(folder.path());
    QVERIFY(engine != nullptr && engine->model().labels && !engine->model().vectors && !engine->model().generates);
    QCOMPARE(engine->model().labels->labels.size(), static_cast<std::size_t>(n_labels));
    QCOMPARE(engine->model().labels->doubles_separator, n_labels == 3);
    const Json answers = read_json_file(source_path("tests/fixtures/embeddings/" + name.toStdString() + "/reference.json"));
    QCOMPARE(answers.size(), std::size_t{3});
    for (const Json& answer : answers) {
      const PoolingParams params{.classifies = true, .second_begin = answer.at("second_begin").get<std::int32_t>()};
      const auto logits = ask(*engine, pooled(answer.at("ids").get<std::vector<std::int32_t>>(), params)).all.vector;
      const auto want = answer.at("logits").get<std::vector<float>>();
      QCOMPARE(logits.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        const float error = std::fabs(logits[i] - want[i]);
        QVERIFY2(error <= 1e-4F, qPrintable(QString("%1 differs from %2").arg(logits[i]).arg(want[i])));
      }
    }
    QVERIFY(!engine->submit(pooled({5, 6})));  // it has no vectors
    QVERIFY(!load(tiny_model_path())->submit(pooled({5, 6}, {.classifies = true})));
  }

  void labels_and_activations_are_read_from_the_config() {
    const EncoderFolder labels("xlm-roberta-labels"), pair("bert-pair");
    QCOMPARE(load(labels.path())->model().labels->labels,
             (std::vector<std::string>{"contradiction", "neutral", "entailment"}));
    QVERIFY(load(labels.path())->model().labels->activation == LabelActivation::softmax);
    QVERIFY(load(pair.path())->model().labels->activation == LabelActivation::sigmoid);
    Json config = read_json_file(pair.path() + "/config.json");
    config["sentence_transformers"] = {{"activation_fn", "torch.nn.modules.linear.Identity"}};
    pair.write("config.json", config.dump());
    QVERIFY(load(pair.path())->model().labels->activation == LabelActivation::none);
    config["sentence_transformers"]["activation_fn"] = "torch.nn.modules.activation.Tanh";
    pair.write("config.json", config.dump());
    EngineOptions options;
    options.model = pair.path();
    VERIFY_HAS(load_engine(options).error().message, "Tanh");
  }

  void activations_map_logits() {
    std::vector<float> logits = {0, 0};
    apply_activation(LabelActivation::softmax, logits);
    QCOMPARE(logits, (std::vector<float>{0.5F, 0.5F}));
    logits = {1000, 0};
    apply_activation(LabelActivation::softmax, logits);
    QCOMPARE(logits, (std::vector<float>{1, 0}));
    apply_activation(LabelActivation::sigmoid, logits);
    QCOMPARE(logits.back(), 0.5F);
    apply_activation(LabelActivation::none, logits);
    QCOMPARE(logits.back(), 0.5F);
  }

  void matryoshka_is_read_from_the_config() {
    const EncoderFolder folder("bert");
    Json config = read_json_file(folder.path() + "/config.json");
    config["is_matryoshka"] = true;
    config["matryoshka_dimensions"] = {16, 32};
    folder.write("config.json", config.dump());
    const auto engine = load(folder.path());
    QVERIFY(engine != nullptr && engine->model().vectors->is_matryoshka);
    QCOMPARE(ask(*engine, pooled({5, 6}, {.dimensions = 16})).all.vector.size(), std::size_t{16});
    QVERIFY(!engine->submit(pooled({5, 6}, {.dimensions = 20})));
  }
};

LATHE_TEST(PooledRequestsTest)

}  // namespace pooled_requests_test
#include "pooled_requests_test.moc"
