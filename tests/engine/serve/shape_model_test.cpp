// SPDX-License-Identifier: Apache-2.0
// Models that are shapes: every one of the table has the tensors and parameters that it should, and the small one runs with
// every quantization without a file.
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "engine/api/engine.h"
#include "engine/api/model_shapes.h"
#include "engine/api/packed_cache.h"
#include "engine/model/random_checkpoint.h"
#include "engine/model/weight_plan.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"

namespace shape_model_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

EngineOptions tiny_options(std::string_view name = "tiny") {
  EngineOptions options;
  options.model = shape_path(name);
  options.threads = 1;
  options.max_model_len = 64;
  options.max_num_seqs = 2;
  return options;
}

std::vector<std::int32_t> greedy_tokens(Engine& engine) {
  GenerateRequest request;
  request.prompt_token_ids = {5, 300, 77, 511};
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 12;
  const auto handle = engine.submit(std::move(request));
  std::vector<std::int32_t> tokens;
  for (bool finished = !handle; !finished;) {
    TokenEvent event;
    if (!(*handle)->wait(event, std::chrono::seconds(60))) return {};
    tokens.insert(tokens.end(), event.token_ids.begin(), event.token_ids.end());
    finished = event.finished;
  }
  return tokens;
}

}  // namespace

class ShapeModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_shape_has_its_parameters();
  void every_shape_is_estimated();
  void unknown_names_are_listed();
  void two_loads_give_the_same_tokens();
  void every_quantization_loads();
  void nothing_is_cached();
  void texts_are_bytes();
  void experts_have_their_tensors();
};

void ShapeModelTest::every_shape_has_its_parameters() {
  // Counts that the models' pages say; llama-8b has 32,000 instead of 128,256 rows of embeddings and head.
  const std::vector<std::pair<std::string_view, std::int64_t>> expected = {
      {"llama-8b", 8'030'261'248 - 2LL * 4096 * (128'256 - 32'000)},
      {"llama-8b-128k", 8'030'261'248},
      {"llama-1b", 1'235'814'400},
      {"qwen2.5-0.5b", 494'032'768},
      {"qwen3-30b-a3b", 30'532'122'624},
      {"tiny", 2 * (2 * 128 + 128 * (128 + 64 + 64 + 128) + 3 * 128 * 256) + 2 * 512 * 128 + 128},
      {"tiny-moe",
       2 * (2 * 128 + 128 * (128 + 64 + 64 + 128) + 2 * 32 + 8 * 128 + 8 * 3 * 128 * 128) + 2 * 512 * 128 + 128}};
  QCOMPARE(model_shapes().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    QCOMPARE(model_shapes()[i].name, expected[i].first);
    const auto info = inspect_checkpoint(shape_path(expected[i].first));
    QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
    QCOMPARE(info->n_parameters, expected[i].second);
    QCOMPARE(info->name, std::string(expected[i].first));
    QCOMPARE(info->stored_dtype, std::string("bfloat16"));
    QCOMPARE(info->tokenizer, std::string("bytes"));
    QVERIFY2(info->warnings.empty(), info->warnings.empty() ? "" : info->warnings.front().c_str());
    QVERIFY(info->eos_ids.empty());
  }
}

void ShapeModelTest::every_shape_is_estimated() {
  for (const std::string_view name : model_shape_names()) {
    EngineOptions options;
    options.model = shape_path(name);
    const auto info = inspect_checkpoint(options.model);
    const auto fit = estimate_fit(*info, options);
    QVERIFY2(fit.has_value(), fit ? "" : fit.error().message.c_str());
    QVERIFY(fit->weights >= 2 * info->n_parameters);
  }
}

void ShapeModelTest::unknown_names_are_listed() {
  const auto refused = inspect_checkpoint("shape:llama-9b");
  QVERIFY(!refused && refused.error().code == ErrorCode::not_found);
  for (const std::string_view name : model_shape_names()) QVERIFY(refused.error().message.find(name) != std::string::npos);
}

void ShapeModelTest::two_loads_give_the_same_tokens() {
  const auto first = load_engine(tiny_options()), second = load_engine(tiny_options());
  QVERIFY2(first.has_value(), first ? "" : first.error().message.c_str());
  QVERIFY((*first)->model().info.warnings.empty());
  const auto tokens = greedy_tokens(**first);
  QCOMPARE(tokens.size(), std::size_t{12});
  QVERIFY(tokens == greedy_tokens(**second));
}

void ShapeModelTest::every_quantization_loads() {
  for (const std::string_view name : choices_of(engine_option("quantization"))) {
    for (const char* shape : {"tiny", "tiny-moe"}) {
      EngineOptions options = tiny_options(shape);
      options.quantization = name;
      const auto engine = load_engine(options);
      // Smoothing has no form for experts.
      if (name == "smoothquant" && options.model == shape_path("tiny-moe")) {
        QVERIFY(!engine.has_value());
        continue;
      }
      QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
      QCOMPARE(greedy_tokens(**engine).size(), std::size_t{12});
    }
  }
}

void ShapeModelTest::nothing_is_cached() {
  const QTemporaryDir folder;
  EngineOptions options = tiny_options();
  options.quantization = choices_of(engine_option("quantization")).back();
  QVERIFY(options.quantization != "none");
  const auto engine = load_engine_cached(options, {}, {.path = folder.path().toStdString()});
  QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
  QVERIFY((*engine)->model().packed_cache == PackedCacheUse::none);
  QVERIFY(std::filesystem::is_empty(folder.path().toStdString()));
}

void ShapeModelTest::texts_are_bytes() {
  const auto tokenizer = open_tokenizer(shape_path("tiny"));
  QVERIFY(tokenizer.has_value());
  QCOMPARE((*tokenizer)->vocab_size(), 512);
  const auto ids = tests::encoded(**tokenizer, "h\xC3\xA9", false, false);
  QVERIFY(ids == (std::vector<std::int32_t>{'h', 0xC3, 0xA9}));
  QCOMPARE((*tokenizer)->decode(ids, true), std::string("h\xC3\xA9"));
  QCOMPARE((*tokenizer)->piece(300), std::string(" 300"));
  QVERIFY((*tokenizer)->id_of(" 300") == 300 && (*tokenizer)->id_of("h") == 'h' && !(*tokenizer)->id_of(" 600"));
}

void ShapeModelTest::experts_have_their_tensors() {
  Json json = *parse_json(find_shape("qwen3-30b-a3b").value()->config, "config.json");
  json["num_hidden_layers"] = 2;
  json["num_experts"] = 8;
  const auto config = read_model_config(json);
  QVERIFY2(config.has_value(), config ? "" : config.error().message.c_str());
  const auto checkpoint = random_checkpoint(*config, "small");
  QVERIFY(checkpoint.has_value());
  QVERIFY(checkpoint->find("model.layers.1.mlp.experts.7.down_proj.weight") != nullptr);
  QVERIFY(checkpoint->find("model.layers.0.self_attn.q_norm.weight") != nullptr);
  const auto plan = plan_weights(*checkpoint, *config);
  QVERIFY2(plan.has_value(), plan ? "" : plan.error().message.c_str());
  QCOMPARE(plan->weights.size(), checkpoint->tensors().size());
  QVERIFY(plan->warnings.empty());
}

LATHE_TEST(ShapeModelTest)

}  // namespace shape_model_test
#include "shape_model_test.moc"
