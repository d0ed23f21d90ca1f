// SPDX-License-Identifier: Apache-2.0
// What a checkpoint is said to be before it is loaded, and the fit estimate.
#include <QTest>
#include <filesystem>

#include "engine/api/checkpoint.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

using namespace lathe::engine;
using lathe::tests::tiny_model_path;
using lathe::tests::TinyModelCopy;

class InspectCheckpointTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void facts_of_a_checkpoint();
  void facts_of_a_sharded_bf16_checkpoint();
  void scaling_is_described();
  void eos_ids_of_both_files_are_joined();
  void chat_template_is_found_in_either_place();
  void named_templates_have_a_default();
  void a_folder_without_tokenizer_is_warned_of();
  void warnings_of_all_parts_are_gathered();
  void errors_name_the_file();
  void a_missing_config_is_refused();
  void a_missing_folder_is_not_found();
  void estimate_grows_with_the_context();
  void estimate_counts_what_unloading_gives_back();
  void estimate_knows_the_stored_type();
  void estimate_refuses_an_unknown_isa();
  void verdicts_have_words();
  void shared_models_are_described();
  void L20_config_on_disk_is_refused_by_name();
};

void InspectCheckpointTest::L20_config_on_disk_is_refused_by_name() {
  const auto refused = [](const TinyModelCopy& model) {
    const auto info = inspect_checkpoint(model.path());
    return info ? std::string("was accepted") : info.error().where + ": " + info.error().message;
  };
  for (const char* value : {"NaN", "Infinity", "1e400"}) {
    const TinyModelCopy model;
    std::string text = lathe::tests::read_file(model.file("config.json"));
    text.insert(text.find('{') + 1, std::string("\"rope_theta\": ") + value + ",");
    lathe::tests::write_file(model.file("config.json"), text);
    QVERIFY2(refused(model).starts_with("config.json: not valid JSON at byte "), refused(model).c_str());
  }
  // So many values are more than the reader of JSON takes; half of them are more than the config does.
  const TinyModelCopy longest, long_list;
  longest.set_config("eos_token_id", Json(std::vector<int>(1'000'000, 2)));
  QVERIFY2(refused(longest).starts_with("config.json: not valid JSON"), refused(longest).c_str());
  long_list.set_config("eos_token_id", Json(std::vector<int>(500'000, 2)));
  QVERIFY2(refused(long_list).starts_with("config.json: eos_token_id: got a list of 500000"), refused(long_list).c_str());
}

void InspectCheckpointTest::facts_of_a_checkpoint() {
  const auto info = inspect_checkpoint(tiny_model_path());
  QVERIFY(info.has_value());
  QCOMPARE(info->name, std::string("tiny-llama"));
  QCOMPARE(info->architecture, std::string("LlamaForCausalLM"));
  QCOMPARE(info->file_format, std::string("safetensors"));
  QCOMPARE(info->stored_dtype, std::string("float32"));
  QCOMPARE(info->vocab_size, 384);
  QCOMPARE(info->n_heads, 4);
  QCOMPARE(info->n_kv_heads, 2);
  QCOMPARE(info->head_dim, 16);
  QCOMPARE(info->rope_scaling, std::string("none"));
  QCOMPARE(info->tokenizer, std::string("sentencepiece"));
  QVERIFY(!info->tied_embeddings);
  QVERIFY(!info->is_demo);
  QVERIFY(info->warnings.empty());
  // Embedding and head, then per layer Q, K, V, O with biases, three of the MLP with biases, two norms; the last norm.
  QCOMPARE(info->n_parameters, 2 * 384 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 192 + 3 * 96 * 64 + 256 + 128) + 64);
}

void InspectCheckpointTest::facts_of_a_sharded_bf16_checkpoint() {
  const auto info = inspect_checkpoint(tiny_model_path("tiny-sharded"));
  QCOMPARE(info->stored_dtype, std::string("bfloat16"));
  QCOMPARE(info->tensors_by_dtype.at("bfloat16"), 21);
  QCOMPARE(info->rope_theta, 500000.0);
  QVERIFY(info->file_bytes > info->n_parameters * 2);
}

void InspectCheckpointTest::scaling_is_described() {
  QCOMPARE(inspect_checkpoint(tiny_model_path("tiny-llama3-rope"))->rope_scaling, std::string("llama3 x8"));
  QCOMPARE(inspect_checkpoint(tiny_model_path("tiny-linear-rope"))->rope_scaling, std::string("linear x4"));
}

void InspectCheckpointTest::eos_ids_of_both_files_are_joined() {
  QCOMPARE(inspect_checkpoint(tiny_model_path())->eos_ids, (std::vector<std::int32_t>{2, 6}));
  const TinyModelCopy model;
  model.set_config("eos_token_id", {2, 9});
  QCOMPARE(inspect_checkpoint(model.path())->eos_ids, (std::vector<std::int32_t>{2, 6, 9}));
}

void InspectCheckpointTest::chat_template_is_found_in_either_place() {
  QVERIFY(inspect_checkpoint(tiny_model_path("tiny-llama"))->has_chat_template);
  QVERIFY(inspect_checkpoint(tiny_model_path("tiny-sharded"))->has_chat_template);
  QVERIFY(!inspect_checkpoint(tiny_model_path("tiny-llama3-rope"))->has_chat_template);
}

void InspectCheckpointTest::named_templates_have_a_default() {
  const TinyModelCopy model;
  const auto put = [&](Json templates) {
    model.edit("tokenizer_config.json", [&](Json& config) { config["chat_template"] = std::move(templates); });
  };
  put({{{"name", "tool_use"}, {"template", "t"}}, {{"name", "default"}, {"template", "d"}}});
  QVERIFY(inspect_checkpoint(model.path())->has_chat_template);
  QCOMPARE(inspect_checkpoint(model.path())->chat_templates, (std::vector<std::string>{"default", "tool_use"}));
  put({{{"name", "tool_use"}, {"template", "t"}}});
  QVERIFY(!inspect_checkpoint(model.path())->has_chat_template);
}

void InspectCheckpointTest::a_folder_without_tokenizer_is_warned_of() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("tokenizer.model"));
  const auto info = inspect_checkpoint(model.path());
  QVERIFY(info->tokenizer.empty());
  QVERIFY(info->warnings.front().starts_with("no tokenizer"));
}

void InspectCheckpointTest::warnings_of_all_parts_are_gathered() {
  const TinyModelCopy model("tiny-sharded");
  model.set_config("tie_word_embeddings", true);
  model.edit("model.safetensors.index.json", [](Json& index) { index["metadata"]["total_size"] = 1; });
  model.edit("generation_config.json", [](Json& config) { config["temperature"] = -3; });
  QCOMPARE(inspect_checkpoint(model.path())->warnings.size(), std::size_t{3});
}

void InspectCheckpointTest::errors_name_the_file() {
  const TinyModelCopy model;
  model.set_config("hidden_size", "wide");
  const auto info = inspect_checkpoint(model.path());
  QVERIFY(info.error().code == ErrorCode::model_refused);
  QCOMPARE(info.error().where, std::string("config.json: hidden_size"));
}

void InspectCheckpointTest::a_missing_config_is_refused() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("config.json"));
  QCOMPARE(inspect_checkpoint(model.path()).error().where, std::string("config.json"));
}

void InspectCheckpointTest::a_missing_folder_is_not_found() {
  QVERIFY(inspect_checkpoint("/no/such/folder").error().code == ErrorCode::not_found);
}

void InspectCheckpointTest::estimate_grows_with_the_context() {
  const auto info = inspect_checkpoint(tiny_model_path());
  EngineOptions options;
  const auto whole = estimate_fit(*info, options);
  options.max_model_len = 128;
  const auto half = estimate_fit(*info, options);
  QVERIFY(whole.has_value() && half.has_value());
  QCOMPARE(whole->kv, 2 * half->kv);
  QCOMPARE(whole->weights, half->weights);
  QVERIFY(whole->verdict == FitVerdict::fits);
}

void InspectCheckpointTest::estimate_counts_what_unloading_gives_back() {
  constexpr std::int64_t kPebibyte = 1LL << 50;  // dwarfs whatever other programs take and give meanwhile
  const auto info = inspect_checkpoint(tiny_model_path());
  const auto fit = estimate_fit(*info, {}, kPebibyte);
  QCOMPARE(fit->returned, kPebibyte);
  QVERIFY(fit->free > kPebibyte);
}

void InspectCheckpointTest::estimate_knows_the_stored_type() {
  const auto narrow = estimate_fit(*inspect_checkpoint(tiny_model_path("tiny-sharded")), {});
  EngineOptions options;
  options.dtype = "float32";
  const auto wide = estimate_fit(*inspect_checkpoint(tiny_model_path("tiny-sharded")), options);
  QVERIFY(wide->weights > narrow->weights * 3 / 2);
}

void InspectCheckpointTest::estimate_refuses_an_unknown_isa() {
  EngineOptions options;
  options.isa = "z80";
  const auto fit = estimate_fit(*inspect_checkpoint(tiny_model_path()), options);
  QVERIFY(fit.error().code == ErrorCode::invalid_argument);
  QVERIFY(fit.error().message.find("scalar") != std::string::npos);
}

void InspectCheckpointTest::verdicts_have_words() {
  QCOMPARE(name_of(FitVerdict::fits), std::string_view("Fits"));
  QCOMPARE(name_of(FitVerdict::tight), std::string_view("Tight"));
  QCOMPARE(name_of(FitVerdict::wont_fit), std::string_view("Won't fit"));
  QCOMPARE(name_of(FitVerdict::unknown), std::string_view("Unknown"));
}

void InspectCheckpointTest::shared_models_are_described() {
  SKIP_WITHOUT_SHARED("data/models");
  const auto info = inspect_checkpoint(lathe::tests::shared_path("data/models/TinyStories-656K-hf"));
  QVERIFY(info.has_value());
  QCOMPARE(info->tokenizer, std::string("bpe"));
  QVERIFY(info->tied_embeddings);
  QVERIFY(info->warnings.empty());
}

QTEST_GUILESS_MAIN(InspectCheckpointTest)
#include "inspect_checkpoint_test.moc"
