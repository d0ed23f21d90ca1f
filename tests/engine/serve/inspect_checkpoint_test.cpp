// SPDX-License-Identifier: Apache-2.0
// Tests of inspect_checkpoint(), which describes a checkpoint before it is loaded, and of the fit estimate.
#include <sys/stat.h>

#include <QTest>
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "engine/api/checkpoint.h"
#include "tests/support/model_stores.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace inspect_checkpoint_test {

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
  void what_a_model_can_do_without_may_be_broken_data();
  void what_a_model_can_do_without_may_be_broken();
  void a_folder_that_is_no_model_says_what_it_is_data();
  void a_folder_that_is_no_model_says_what_it_is();
  void a_repository_of_the_cache_is_inspected_by_its_snapshot();
};

void InspectCheckpointTest::what_a_model_can_do_without_may_be_broken_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("warning");  // "": nobody reads it
  const auto row = [](const char* file, const char* warning) { QTest::newRow(file) << QString(file) << QString(warning); };
  row("generation_config.json", "generation_config.json is left out: not valid JSON at byte 8");
  row("tokenizer_config.json", "tokenizer_config.json is left out: not valid JSON at byte 8");
  row("special_tokens_map.json", "special_tokens_map.json is left out: not valid JSON at byte 8");
  row("added_tokens.json", "added_tokens.json is left out: not valid JSON at byte 8");
  row("preprocessor_config.json", "");
  row("video_preprocessor_config.json", "");
  row("README.md", "");
}

/// No JSON, an unreadable text, a folder, a pipe, a link to nowhere, and a circle.
void InspectCheckpointTest::what_a_model_can_do_without_may_be_broken() {
  namespace fs = std::filesystem;
  QFETCH(QString, file);
  QFETCH(QString, warning);
  const TinyModelCopy model;
  const std::string path = model.file(file.toStdString());
  const auto check = [&](std::string_view words) {
    const auto info = inspect_checkpoint(model.path());
    QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
    const bool is_read = !warning.isEmpty();
    const auto names_it = [&](const std::string& line) {
      return line.find(file.toStdString()) != std::string::npos && line.find(words) != std::string::npos;
    };
    QCOMPARE(std::any_of(info->warnings.begin(), info->warnings.end(), names_it), is_read);
  };
  fs::remove(path);
  lathe::tests::write_file(path, R"({"a": 1,})");
  check(warning.toStdString());
  fs::remove(path);
  fs::create_directory(path);
  check("not a regular file but a folder");
  fs::remove(path);
  QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
  check("not a regular file but a pipe");
  fs::remove(path);
  fs::create_symlink("gone", path);
  check("it is a link to gone, which does not exist");
  fs::remove(path);
  fs::create_symlink(fs::path(path).filename(), path);
  check("symbolic links go in a circle");
}

void InspectCheckpointTest::a_folder_that_is_no_model_says_what_it_is_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QString>("words");
  const auto row = [](const char* name, const char* file, const char* text, const char* words) {
    QTest::newRow(name) << QString(file) << QByteArray(text) << QString(words);
  };
  row("adapter", "adapter_config.json", R"({"base_model_name_or_path": "org/base"})",
      "adapter_config.json: this is an adapter (LoRA) for org/base, not a model; merge it");
  row("broken adapter", "adapter_config.json", "{", "adapter_config.json: this is an adapter (LoRA), not a model");
  row("names of Mistral", "params.json", "{}", "config.json: file is missing; params.json belongs to weights");
  row("answer", "config.json", R"({"error": "Repository not found"})",
      "config.json: is the error message of a server, not a configuration ({\"error\":\"Repository not found\"})");
  row("download", "config.json.part", "{", "config.json.part is an unfinished download");
  row("nothing", "notes.txt", "", "config.json: file is missing; the folder of a model has it next to the weights");
}

void InspectCheckpointTest::a_folder_that_is_no_model_says_what_it_is() {
  QFETCH(QString, file);
  QFETCH(QByteArray, text);
  QFETCH(QString, words);
  const TinyModelCopy model;
  std::filesystem::remove(model.file("config.json"));
  lathe::tests::write_file(model.file(file.toStdString()), text.toStdString());
  const auto info = inspect_checkpoint(model.path());
  QVERIFY(!info && info.error().code == ErrorCode::model_refused);
  const std::string error = info.error().where + ": " + info.error().message;
  QVERIFY2(QString::fromStdString(error).contains(words), error.c_str());
}

void InspectCheckpointTest::a_repository_of_the_cache_is_inspected_by_its_snapshot() {
  const lathe::tests::ModelStores stores;
  const std::string snapshot = stores.add_to_hub("acme", "tiny-llama", "0a1b");
  const std::filesystem::path repository = std::filesystem::path(snapshot).parent_path().parent_path();
  const auto info = inspect_checkpoint(repository.string());
  QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
  QCOMPARE(info->path, std::filesystem::canonical(snapshot).string());
  QCOMPARE(info->name, std::string("acme/tiny-llama"));
  std::filesystem::remove(repository / "refs/main");
  stores.add_to_hub("acme", "tiny-llama", "ffff", false);
  const auto newest = inspect_checkpoint(repository.string());
  QVERIFY(newest.has_value());
  QVERIFY(!newest->warnings.empty() && newest->warnings.front().find("the newest one is opened") != std::string::npos);
}

void InspectCheckpointTest::L20_config_on_disk_is_refused_by_name() {
  const auto refused = [](const TinyModelCopy& model) {
    const auto info = inspect_checkpoint(model.path());
    return info ? std::string("was accepted") : info.error().where + ": " + info.error().message;
  };
  for (const char* value : {"NaN", "Infinity", "-Infinity", "1e400"}) {
    const TinyModelCopy model;
    model.edit("config.json", [](Json& config) { config.erase("rope_theta"); });
    std::string text = lathe::tests::read_file(model.file("config.json"));
    text.insert(text.find('{') + 1, std::string("\"rope_theta\": ") + value + ",");
    lathe::tests::write_file(model.file("config.json"), text);
    QVERIFY2(refused(model).starts_with("config.json: rope_theta: got "), refused(model).c_str());
    // The same where nobody looks.
    text.replace(text.find("rope_theta"), std::string_view("rope_theta").size(), "time_step");
    lathe::tests::write_file(model.file("config.json"), text);
    QCOMPARE(refused(model), std::string("was accepted"));
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

LATHE_TEST(InspectCheckpointTest)

}  // namespace inspect_checkpoint_test
#include "inspect_checkpoint_test.moc"
