// SPDX-License-Identifier: Apache-2.0
// From options to a running engine: what it says of itself, progress, cancel, and every reason to refuse.
#include <QTest>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "engine/api/engine.h"
#include "kernels/api/backend.h"
#include "tests/support/encoded.h"
#include "tests/support/engine_harness.h"
#include "tests/support/process_memory.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace load_engine_test {

using namespace lathe;
using namespace lathe::engine;
using tests::encoded;
using tests::tiny_model_path;
using tests::TinyModelCopy;

namespace {

EngineOptions options_for(const std::string& path) {
  EngineOptions options;
  options.model = path;
  options.dtype = "float32";
  return options;
}

Result<std::unique_ptr<Engine>> load(const std::string& path) { return load_engine(options_for(path)); }

/// The error of a load that must fail; an internal one when it did not.
Error refusal_of(const EngineOptions& options, const LoadObserver& observer = {}) {
  const auto engine = load_engine(options, observer);
  return engine ? Error{ErrorCode::internal, "was loaded", ""} : engine.error();
}

/// Greedy tokens through the whole engine.
std::vector<std::int32_t> generate(Engine& engine, std::vector<std::int32_t> prompt, std::int64_t n_tokens) {
  GenerateRequest request;
  request.prompt_token_ids = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.max_tokens = n_tokens;
  request.sampling.ignore_eos = true;
  const auto handle = engine.submit(std::move(request));
  std::vector<std::int32_t> tokens;
  if (!handle) return tokens;
  for (bool finished = false; !finished;) {
    TokenEvent event;
    if (!(*handle)->wait(event, std::chrono::seconds(60))) return {};
    tokens.insert(tokens.end(), event.token_ids.begin(), event.token_ids.end());
    finished = event.finished;
  }
  return tokens;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

class LoadEngineTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_loaded_model_says_what_it_is();
  void memory_is_what_was_estimated();
  void greedy_tokens_equal_the_reference_data();
  void greedy_tokens_equal_the_reference();
  void it_is_served_under_the_name_asked_for();
  void every_end_token_ends_an_answer_data();
  void every_end_token_ends_an_answer();
  void end_tokens_wait_for_min_tokens();
  void the_tokenizers_end_token_is_one_too();
  void defaults_of_generation_config_are_kept();
  void tokenizer_may_lie_elsewhere();
  void dtype_auto_is_as_stored();
  void instruction_set_may_be_chosen_data();
  void instruction_set_may_be_chosen();
  void progress_runs_through_the_phases();
  void cancel_works_in_every_phase();
  void a_load_that_fails_gives_memory_back_to_the_system();
  void a_load_that_smooths_reads_its_layers_twice();
  void bad_options_are_refused_first();
  void an_unknown_instruction_set_is_refused();
  void E3_what_does_not_fit_is_refused_with_numbers();
  void without_the_check_the_allocator_has_the_last_word();
  void a_missing_tokenizer_is_refused();
  void L17_more_pieces_than_rows_are_refused();
  void L17_fewer_pieces_than_rows_are_padding();
  void L11_weights_truncated_while_they_are_read();
  void L8_wrong_shapes_are_refused();
  void L9_nan_weights_are_a_warning();
  void unchunked_prefill_needs_rows_for_a_context();
  void phases_have_names();
  void stories260K_through_the_engine();
};

void LoadEngineTest::a_loaded_model_says_what_it_is() {
  const auto engine = load(tiny_model_path());
  QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
  const LoadedModel& model = (*engine)->model();
  QCOMPARE(model.name, std::string("tiny-llama"));
  QCOMPARE(model.dtype, std::string("float32"));
  QCOMPARE(model.kv_cache_dtype, std::string("float32"));
  QCOMPARE(model.max_model_len, 256);
  QCOMPARE(model.n_blocks, 16 * 256 / 16);
  QCOMPARE(model.backend, std::string("cpu"));
  QVERIFY(!model.isa.empty() && model.n_threads >= 1 && model.load_ms > 0);
  QCOMPARE(model.info.eos_ids, (std::vector<std::int32_t>{2, 6}));
  QVERIFY(model.info.warnings.empty());
}

void LoadEngineTest::memory_is_what_was_estimated() {
  for (const std::string_view quantization : choices_of(engine_option("quantization"))) {
    EngineOptions options = options_for(tiny_model_path());
    options.quantization = quantization;
    const auto engine = load_engine(options);
    const auto fit = estimate_fit(*inspect_checkpoint(tiny_model_path()), options);
    const MemoryUse& memory = (*engine)->model().memory;
    QCOMPARE(memory.weights, fit->weights);
    QCOMPARE(memory.kv, fit->kv);
    QCOMPARE(memory.activations, fit->activations);
    QCOMPARE(memory.other, fit->other);
    QCOMPARE((*engine)->model().estimate.total(), fit->total());
    QCOMPARE((*engine)->model().estimate.n_blocks, fit->n_blocks);
  }
}

void LoadEngineTest::greedy_tokens_equal_the_reference_data() {
  QTest::addColumn<QString>("model");
  for (const std::string_view model : tests::kTinyModels) QTest::newRow(model.data()) << model.data();
}

void LoadEngineTest::greedy_tokens_equal_the_reference() {
  QFETCH(QString, model);
  const std::string path = tiny_model_path(model.toStdString());
  const auto engine = load(path);
  QVERIFY(engine.has_value());
  const Json reference = tests::read_json_file(path + "/reference.json");
  std::vector<std::int32_t> expected;
  for (const Json& pair : reference["greedy"]) expected.push_back(pair[0]);
  QCOMPARE(generate(**engine, reference["prompt_ids"], static_cast<std::int64_t>(expected.size())), expected);
}

void LoadEngineTest::it_is_served_under_the_name_asked_for() {
  EngineOptions options = options_for(tiny_model_path());
  options.served_model_name = "my-model";
  QCOMPARE((*load_engine(options))->model().name, std::string("my-model"));
}

namespace {

/// A request that gives `id` at once where it may.
GenerateRequest request_for(std::int32_t id) {
  GenerateRequest request;
  request.prompt_token_ids = {1, 10, 11, 12};
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 12;
  request.sampling.logit_bias = {{id, 100.0F}};
  return request;
}

}  // namespace

/// config.json names 2, generation_config.json 6, and the tokenizer 2.
void LoadEngineTest::every_end_token_ends_an_answer_data() {
  QTest::addColumn<int>("id");
  for (const int id : {2, 6}) QTest::addRow("%d", id) << id;
}

void LoadEngineTest::every_end_token_ends_an_answer() {
  QFETCH(int, id);
  const auto engine = load(tiny_model_path());
  const tests::Answer answer = tests::ask(**engine, request_for(id));
  QCOMPARE(answer.ids(), std::vector<std::int32_t>{id});
  QCOMPARE(answer.all.finish_reason, FinishReason::stop);
  QCOMPARE(answer.all.stop_reason, std::string("eos"));
}

void LoadEngineTest::end_tokens_wait_for_min_tokens() {
  const auto engine = load(tiny_model_path());
  GenerateRequest request = request_for(6);
  request.sampling.min_tokens = 5;
  const tests::Answer answer = tests::ask(**engine, request);
  QCOMPARE(answer.ids().size(), 6U);
  QCOMPARE(std::count(answer.ids().begin(), answer.ids().end(), 6), 1);
  QCOMPARE(answer.all.finish_reason, FinishReason::stop);
}

void LoadEngineTest::the_tokenizers_end_token_is_one_too() {
  const TinyModelCopy model;
  model.set_config("eos_token_id", 9);
  model.edit("generation_config.json", [](Json& config) { config.erase("eos_token_id"); });
  const auto engine = load(model.path());
  QCOMPARE((*engine)->model().info.eos_ids, (std::vector<std::int32_t>{2, 9}));
  QCOMPARE(tests::ask(**engine, request_for(2)).all.finish_reason, FinishReason::stop);
}

void LoadEngineTest::defaults_of_generation_config_are_kept() {
  const auto engine = load(tiny_model_path());
  const SamplingParams& sampling = (*engine)->model().default_sampling;
  QCOMPARE(sampling.temperature, 0.7);
  QCOMPARE(sampling.top_p, 0.95);
  QCOMPARE(sampling.top_k, 40);
  QVERIFY(!(*engine)->model().default_max_tokens);
  const TinyModelCopy model;
  model.edit("generation_config.json", [](Json& config) { config["max_new_tokens"] = 77; });
  QCOMPARE((*load(model.path()))->model().default_max_tokens, std::optional<std::int64_t>(77));
}

void LoadEngineTest::tokenizer_may_lie_elsewhere() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("tokenizer.model"));
  EngineOptions options = options_for(model.path());
  options.tokenizer = tiny_model_path("tiny-sharded");
  QCOMPARE((*load_engine(options))->tokenizer().vocab_size(), 384);
}

void LoadEngineTest::dtype_auto_is_as_stored() {
  EngineOptions options = options_for(tiny_model_path("tiny-sharded"));
  options.dtype = "auto";
  const auto engine = load_engine(options);
  QCOMPARE((*engine)->model().dtype, std::string("bfloat16"));
  QCOMPARE((*engine)->model().kv_cache_dtype, std::string("bfloat16"));
}

void LoadEngineTest::instruction_set_may_be_chosen_data() {
  QTest::addColumn<QString>("isa");
  for (const std::string& isa : kernels::cpu_isas()) QTest::newRow(isa.c_str()) << QString::fromStdString(isa);
}

void LoadEngineTest::instruction_set_may_be_chosen() {
  QFETCH(QString, isa);
  EngineOptions options = options_for(tiny_model_path());
  options.isa = isa.toStdString();
  const auto engine = load_engine(options);
  QVERIFY(engine.has_value());
  QCOMPARE((*engine)->model().isa, isa.toStdString());
}

void LoadEngineTest::progress_runs_through_the_phases() {
  std::vector<LoadProgress> seen;
  const auto observer = [&](const LoadProgress& progress) {
    seen.push_back(progress);
    return true;
  };
  QVERIFY(load_engine(options_for(tiny_model_path()), observer).has_value());
  QVERIFY(seen.front().phase == LoadPhase::reading && seen.front().bytes_done == 0);
  QVERIFY(seen.back().phase == LoadPhase::warming_up);
  QCOMPARE(seen.size(), std::size_t{35 + 2});  // one a tensor, one before and one behind
  for (std::size_t i = 1; i < seen.size(); ++i) {
    QVERIFY(seen[i].phase >= seen[i - 1].phase && seen[i].bytes_done >= seen[i - 1].bytes_done);
    QCOMPARE(seen[i].bytes_total, seen[0].bytes_total);
  }
  QCOMPARE(seen.back().bytes_done, seen.back().bytes_total);
}

/// 64 MiB in small pieces that are free again when the load ends, under one that is not.
void LoadEngineTest::a_load_that_fails_gives_memory_back_to_the_system() {
  constexpr std::size_t kPiece = 16 << 10, kPieces = 4096;
  std::vector<std::unique_ptr<char[]>> kept;
  const double before = tests::anonymous_mib();
  double most = 0;
  const Error error = refusal_of(options_for(tiny_model_path()), [&](const LoadProgress&) {
    std::vector<std::unique_ptr<char[]>> pieces;
    for (std::size_t i = 0; i < kPieces; ++i) {
      pieces.push_back(std::make_unique_for_overwrite<char[]>(kPiece));
      std::memset(pieces.back().get(), 1, kPiece);
    }
    kept.push_back(std::make_unique<char[]>(kPiece));
    most = tests::anonymous_mib();
    return false;
  });
  QCOMPARE(error.code, ErrorCode::cancelled);
  if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: only what stays, sanitizers have an allocator of their own");
  QVERIFY2(most > before + 60, std::to_string(most - before).c_str());
  const double left = tests::anonymous_mib() - before;
  QVERIFY2(left < 8, (std::to_string(left) + " MiB stay").c_str());
}

void LoadEngineTest::cancel_works_in_every_phase() {
  for (const LoadPhase phase : {LoadPhase::reading, LoadPhase::converting, LoadPhase::warming_up}) {
    int n_calls_after = 0;
    bool cancelled = false;
    const Error error = refusal_of(options_for(tiny_model_path()), [&](const LoadProgress& progress) {
      if (cancelled) ++n_calls_after;
      cancelled = cancelled || progress.phase == phase;
      return !cancelled;
    });
    QVERIFY(error.code == ErrorCode::cancelled);
    QCOMPARE(n_calls_after, 0);
  }
}

void LoadEngineTest::a_load_that_smooths_reads_its_layers_twice() {
  EngineOptions options = options_for(tiny_model_path());
  options.quantization = "smoothquant";
  std::vector<LoadProgress> seen;
  const auto engine = load_engine(options, [&](const LoadProgress& progress) { return seen.push_back(progress), true; });
  QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
  QCOMPARE(seen.size(), std::size_t{35 + 2 + 3});  // one more a layer, and one before
  const auto calibrates = [](const LoadProgress& progress) { return progress.phase == LoadPhase::calibrating; };
  QCOMPARE(std::count_if(seen.begin(), seen.end(), calibrates), std::ptrdiff_t{3});
  for (std::size_t i = 1; i < seen.size(); ++i) {
    QVERIFY(seen[i].phase >= seen[i - 1].phase && seen[i].bytes_done >= seen[i - 1].bytes_done);
    QCOMPARE(seen[i].bytes_total, seen[0].bytes_total);
  }
  QCOMPARE(seen.back().bytes_done, seen.back().bytes_total);
  QCOMPARE(generate(**engine, {1, 5, 9}, 8).size(), std::size_t{8});
  const Error cancelled = refusal_of(options, [](const LoadProgress& progress) { return progress.bytes_done == 0; });
  QVERIFY(cancelled.code == ErrorCode::cancelled);  // after the first layer of the calibration
  options.smoothquant_per_token = false;
  QCOMPARE(refusal_of(options).where, std::string("smoothquant_per_token"));
}

void LoadEngineTest::bad_options_are_refused_first() {
  EngineOptions options = options_for("/no/such/folder");
  options.block_size = 0;
  QVERIFY(refusal_of(options).code == ErrorCode::invalid_argument);
  options.block_size = 16;
  QVERIFY(refusal_of(options).code == ErrorCode::not_found);
}

void LoadEngineTest::an_unknown_instruction_set_is_refused() {
  EngineOptions options = options_for(tiny_model_path());
  options.isa = "neon";
  QCOMPARE(refusal_of(options).where, std::string("isa"));
}

void LoadEngineTest::E3_what_does_not_fit_is_refused_with_numbers() {
  EngineOptions options = options_for(tiny_model_path());
  options.kv_cache_memory_bytes = 1LL << 43;
  options.block_size = 256;
  const Error error = refusal_of(options);
  QVERIFY(error.code == ErrorCode::resource_exhausted);
  QVERIFY2(contains(error.message, "KV cache 1024") || contains(error.message, "KV cache 8191"), error.message.c_str());
}

/// Pages that nobody touches cost nothing, so whether this loads is up to the system.
void LoadEngineTest::without_the_check_the_allocator_has_the_last_word() {
  const auto info = inspect_checkpoint(tiny_model_path());
  EngineOptions options = options_for(tiny_model_path());
  options.block_size = 256;
  options.kv_cache_memory_bytes = estimate_fit(*info, options)->free + (1LL << 30);
  QVERIFY(contains(refusal_of(options).message, "does not fit"));
  options.check_fit = false;
  const auto engine = load_engine(options);
  if (engine) QVERIFY(!generate(**engine, {1, 5, 9}, 2).empty());
  else QVERIFY2(contains(engine.error().message, "not enough memory for the KV cache"), engine.error().message.c_str());
}

void LoadEngineTest::a_missing_tokenizer_is_refused() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("tokenizer.model"));
  QVERIFY(refusal_of(options_for(model.path())).code == ErrorCode::model_refused);
}

void LoadEngineTest::L17_more_pieces_than_rows_are_refused() {
  const TinyModelCopy model;
  model.edit("tokenizer_config.json", [](Json& config) {
    config["added_tokens_decoder"]["384"] = {{"content", "<one too many>"}, {"special", true}};
  });
  const Error error = refusal_of(options_for(model.path()));
  QVERIFY(error.code == ErrorCode::model_refused);
  QCOMPARE(error.message, std::string("the tokenizer has 385 pieces, but the embeddings have 384 rows"));
}

void LoadEngineTest::L17_fewer_pieces_than_rows_are_padding() {
  const TinyModelCopy model;
  tests::write_file(model.file("tokenizer.model"), tests::serialized(tests::small_model()));
  const auto engine = load(model.path());
  QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
  QVERIFY((*engine)->tokenizer().vocab_size() < 384);
}

void LoadEngineTest::L11_weights_truncated_while_they_are_read() {
  const TinyModelCopy model;
  const Error error = refusal_of(options_for(model.path()), [&](const LoadProgress& progress) {
    if (progress.phase == LoadPhase::converting) std::filesystem::resize_file(model.file("model.safetensors"), 4096);
    return true;
  });
  QVERIFY(error.code == ErrorCode::model_refused);
  QVERIFY2(contains(error.message, "truncated while it was read"), error.message.c_str());
}

void LoadEngineTest::L8_wrong_shapes_are_refused() {
  const TinyModelCopy model;
  model.set_config("intermediate_size", 128);
  const Error error = refusal_of(options_for(model.path()));
  QVERIFY(error.code == ErrorCode::model_refused);
  QVERIFY(contains(error.message, "got [96, 64], expected [128, 64]"));
}

void LoadEngineTest::L9_nan_weights_are_a_warning() {
  const TinyModelCopy model;
  std::string bytes = tests::read_file(model.file("model.safetensors"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);  // the head's last number
  tests::write_file(model.file("model.safetensors"), bytes);
  const auto engine = load(model.path());
  QVERIFY(engine.has_value());
  QVERIFY(contains((*engine)->model().info.warnings.back(), "NaN or infinity"));
}

void LoadEngineTest::unchunked_prefill_needs_rows_for_a_context() {
  EngineOptions options = options_for(tiny_model_path());
  options.enable_chunked_prefill = false;
  options.max_num_batched_tokens = 128;
  QCOMPARE(refusal_of(options).where, std::string("max_num_batched_tokens"));
}

void LoadEngineTest::phases_have_names() {
  QCOMPARE(name_of(LoadPhase::reading), std::string_view("map"));
  QCOMPARE(name_of(LoadPhase::calibrating), std::string_view("calibrate"));
  QCOMPARE(name_of(LoadPhase::converting), std::string_view("convert"));
  QCOMPARE(name_of(LoadPhase::warming_up), std::string_view("warm-up"));
}

void LoadEngineTest::stories260K_through_the_engine() {
  SKIP_WITHOUT_SHARED("data/models/stories260K-hf");
  const std::string path = tests::shared_path("data/models/stories260K-hf");
  const auto engine = load(path);
  QVERIFY(engine.has_value());
  const Json reference = tests::read_json_file(path + "/reference_greedy.json");
  for (const Json& run : reference["runs"]) {
    const auto expected = run["generated_ids"].get<std::vector<std::int32_t>>();
    QCOMPARE(generate(**engine, run["prompt_ids"], static_cast<std::int64_t>(expected.size())), expected);
    QCOMPARE(encoded((*engine)->tokenizer(), run["prompt"].get<std::string>(), true, false),
             run["prompt_ids"].get<std::vector<std::int32_t>>());
  }
}

LATHE_TEST(LoadEngineTest)

}  // namespace load_engine_test
#include "load_engine_test.moc"
