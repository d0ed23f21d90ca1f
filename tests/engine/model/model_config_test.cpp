// SPDX-License-Identifier: Apache-2.0
// config.json: the keys of the Llama family, both spellings of RoPE, refusals with what is missing, and row L20.
#include "engine/model/model_config.h"

#include "engine/model/token_ids.h"

#include <QTest>
#include <set>

#include "engine/model/architectures.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace model_config_test {

using namespace lathe::engine;

namespace {

Json base_config() {
  Json config = lathe::tests::read_json_file(lathe::tests::tiny_model_path() + "/config.json");
  config["attention_bias"] = false;
  config["mlp_bias"] = false;
  return config;
}

Result<ModelConfig> read_with(std::string_view key, Json value) {
  Json config = base_config();
  config[std::string(key)] = std::move(value);
  return read_model_config(config);
}

/// The error of a config that must be refused; an empty one when it was accepted.
Error refusal_of(const Result<ModelConfig>& config) {
  if (config) return {};
  return config.error();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Json json_of(const QString& text) { return Json::parse(text.toStdString()); }

}  // namespace

class ModelConfigTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_architecture_of_the_table_is_complete();
  void sizes_are_read();
  void of_a_model_that_sees_the_text_is_read();
  void a_base_model_has_no_head();
  void biases_and_ties_are_read();
  void model_type_stands_in_for_architectures();
  void absent_keys_have_the_family_defaults();
  void head_dim_may_differ_from_the_quotient();
  void eos_may_be_an_id_or_a_list();
  void rope_of_the_older_spelling();
  void rope_of_the_newer_spelling();
  void rope_theta_of_the_object_wins();
  void the_older_spelling_of_rope_wins();
  void dynamic_scaling_knows_no_other_context();
  void odd_parts_of_heads_data();
  void odd_parts_of_heads();
  void rope_type_may_be_called_type();
  void llama3_scaling_needs_its_factors();
  void llama3_original_context_may_stand_outside();
  void default_rope_type_is_no_scaling();
  void unknown_rope_types_are_unmet_data();
  void unknown_rope_types_are_unmet();
  void rope_per_layer_type_is_unmet();
  void unknown_activation_is_unmet();
  void all_unmet_wishes_are_listed();
  void neutral_knobs_are_fine();
  void active_knobs_are_unmet_data();
  void active_knobs_are_unmet();
  void all_missing_keys_are_listed();
  void L20_unknown_architecture_is_named();
  void L20_no_architecture();
  void L20_bad_values_name_the_field_data();
  void L20_bad_values_name_the_field();
  void L20_heads_must_divide();
  void L20_long_list_of_eos();
  void ids_that_are_no_tokens_are_left_out_data();
  void ids_that_are_no_tokens_are_left_out();
  void L20_rope_factor_is_bounded_data();
  void L20_rope_factor_is_bounded();
  void L20_huge_but_legal_sizes_do_not_overflow();
};

void ModelConfigTest::every_architecture_of_the_table_is_complete() {
  std::set<std::string_view> names;
  for (const Architecture* architecture : architectures()) {
    QVERIFY(names.insert(architecture->name).second);
    QVERIFY(architecture->read_config != nullptr);
    QVERIFY(!architecture->tensors.empty());
    QCOMPARE(find_architecture(architecture->name), architecture);
    QCOMPARE(find_architecture(architecture->model_type), architecture);
  }
}

void ModelConfigTest::sizes_are_read() {
  const auto config = read_model_config(base_config());
  QVERIFY(config.has_value());
  QCOMPARE(config->architecture->name, std::string_view("LlamaForCausalLM"));
  QCOMPARE(config->vocab_size, 384);
  QCOMPARE(config->hidden_size, 64);
  QCOMPARE(config->n_layers, 2);
  QCOMPARE(config->head_dim, 16);
  QCOMPARE(config->q_size(), 64);
  QCOMPARE(config->kv_size(), 32);
  QCOMPARE(config->max_position_embeddings, 256);
  QCOMPARE(config->norm.eps, 1e-5);
  QCOMPARE(*config->bos_id, 1);
}

void ModelConfigTest::of_a_model_that_sees_the_text_is_read() {
  Json text = base_config();
  text.erase("architectures");
  text.erase("tie_word_embeddings");
  text["model_type"] = "llama";
  const Json whole = {{"architectures", {"LlavaForConditionalGeneration"}},
                      {"model_type", "llava"},
                      {"text_config", text},
                      {"tie_word_embeddings", true},
                      {"vision_config", {{"hidden_size", 1024}}}};
  const auto config = read_model_config(whole);
  QVERIFY(config.has_value());
  QCOMPARE(config->architecture->name, std::string_view("LlamaForCausalLM"));
  QCOMPARE(config->hidden_size, 64);
  QVERIFY(config->tied_embeddings);
}

void ModelConfigTest::a_base_model_has_no_head() {
  Json config = base_config();
  config["architectures"] = {"LlamaModel"};
  config["model_type"] = "llama";
  QVERIFY(!read_model_config(config)->has_head);
  QVERIFY(read_model_config(base_config())->has_head);
  config["model_type"] = "marsian";
  QVERIFY(!read_model_config(config).has_value());
}

void ModelConfigTest::biases_and_ties_are_read() {
  QVERIFY(read_with("attention_bias", true)->qkv_bias);
  QVERIFY(read_with("mlp_bias", true)->mlp_bias);
  QVERIFY(read_with("tie_word_embeddings", true)->tied_embeddings);
  QVERIFY(!read_with("tie_word_embeddings", nullptr)->tied_embeddings);
}

void ModelConfigTest::model_type_stands_in_for_architectures() {
  Json config = base_config();
  config.erase("architectures");
  QVERIFY(read_model_config(config).has_value());
}

void ModelConfigTest::absent_keys_have_the_family_defaults() {
  Json config = base_config();
  for (const char* key : {"num_key_value_heads", "rms_norm_eps", "rope_theta", "rope_scaling", "hidden_act",
                          "max_position_embeddings", "bos_token_id", "eos_token_id"}) {
    config.erase(key);
  }
  const auto read = read_model_config(config);
  QVERIFY(read.has_value());
  QCOMPARE(read->n_kv_heads, read->n_heads);
  QCOMPARE(read->norm.eps, 1e-6);
  QCOMPARE(read->ropes.front().theta, 10000.0);
  QCOMPARE(read->max_position_embeddings, 2048);
  QVERIFY(!read->bos_id && read->eos_ids.empty());
}

void ModelConfigTest::head_dim_may_differ_from_the_quotient() {
  QCOMPARE(read_with("head_dim", 128)->q_size(), 512);
  QCOMPARE(read_with("head_dim", nullptr)->head_dim, 16);
}

void ModelConfigTest::eos_may_be_an_id_or_a_list() {
  QCOMPARE(read_with("eos_token_id", 5)->eos_ids, (std::vector<std::int32_t>{5}));
  QCOMPARE(read_with("eos_token_id", {5, 7})->eos_ids, (std::vector<std::int32_t>{5, 7}));
  QVERIFY(read_with("eos_token_id", nullptr)->eos_ids.empty());
}

void ModelConfigTest::rope_of_the_older_spelling() {
  const auto config = read_with("rope_scaling", {{"rope_type", "linear"}, {"factor", 2.5}});
  QVERIFY(config->ropes.front().scaling == RopeScaling::linear);
  QCOMPARE(config->ropes.front().factor, 2.5);
  QCOMPARE(describe_scaling(config->ropes.front()), std::string("linear x2.5"));
  QCOMPARE(read_with("rope_theta", 500000.0)->ropes.front().theta, 500000.0);
}

void ModelConfigTest::rope_of_the_newer_spelling() {
  const auto config = read_with("rope_parameters", {{"rope_type", "llama3"},
                                                    {"rope_theta", 5e5},
                                                    {"factor", 8},
                                                    {"low_freq_factor", 1},
                                                    {"high_freq_factor", 4},
                                                    {"original_max_position_embeddings", 8192}});
  QVERIFY(config->ropes.front().scaling == RopeScaling::llama3);
  QCOMPARE(config->ropes.front().theta, 5e5);
  QCOMPARE(config->ropes.front().original_max_position_embeddings, 8192);
  QCOMPARE(describe_scaling(config->ropes.front()), std::string("llama3 x8"));
}

void ModelConfigTest::rope_theta_of_the_object_wins() {
  Json config = base_config();
  config["rope_theta"] = 1000.0;
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 2000.0}};
  QCOMPARE(read_model_config(config)->ropes.front().theta, 2000.0);
}

/// As transformers reads a file that has both spellings; an empty object says nothing.
void ModelConfigTest::the_older_spelling_of_rope_wins() {
  Json config = base_config();
  config["rope_theta"] = 1000.0;
  config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 3}, {"rope_theta", 2000.0}};
  config["rope_scaling"] = Json::object();
  QCOMPARE(describe_scaling(read_model_config(config)->ropes.front()), std::string("linear x3"));
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  QCOMPARE(describe_scaling(read_model_config(config)->ropes.front()), std::string("linear x2"));
  QCOMPARE(read_model_config(config)->ropes.front().theta, 1000.0);
}

/// Dynamic scaling begins where the checkpoint's positions end.
void ModelConfigTest::dynamic_scaling_knows_no_other_context() {
  const auto config =
      read_with("rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2}, {"original_max_position_embeddings", 64}});
  QCOMPARE(config->ropes.front().original_max_position_embeddings, 256);
}

void ModelConfigTest::odd_parts_of_heads_data() {
  QTest::addColumn<QString>("architecture");
  QTest::addColumn<bool>("may_be_odd");
  QTest::newRow("glm") << "GlmForCausalLM" << true;
  QTest::newRow("glm4") << "Glm4ForCausalLM" << true;
  QTest::newRow("phi3") << "Phi3ForCausalLM" << true;
  QTest::newRow("gpt_neox") << "GPTNeoXForCausalLM" << true;
  QTest::newRow("phi") << "PhiForCausalLM" << false;
  QTest::newRow("stablelm") << "StableLmForCausalLM" << false;
}

/// 0.3 of 10 numbers are 3: of GLM, GPT-NeoX and Phi-3 two pairs turn, by powers of theta in thirds.
void ModelConfigTest::odd_parts_of_heads() {
  QFETCH(QString, architecture);
  QFETCH(bool, may_be_odd);
  Json config = base_config();
  config["architectures"] = {architecture.toStdString()};
  config["head_dim"] = 10;
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1000.0}, {"partial_rotary_factor", 0.3}};
  const auto read = read_model_config(config);
  if (!may_be_odd) {
    QVERIFY(contains(refusal_of(read).message, "0.3 of head_dim 10 is 3, expected an even number"));
    return;
  }
  QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
  const RopeConfig& rope = read->ropes.front();
  QCOMPARE(rope.rotary_dim, 4);
  const std::vector<double> waves = rope_waves(rope, 100).frequencies;
  QCOMPARE(waves.size(), std::size_t{2});
  QVERIFY(std::abs(waves[1] - 0.01) < 1e-12);
  config["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 2}, {"partial_rotary_factor", 0.3}};
  QVERIFY(contains(refusal_of(read_model_config(config)).message, "yarn scaling needs an even number"));
}

void ModelConfigTest::rope_type_may_be_called_type() {
  QVERIFY(read_with("rope_scaling", {{"type", "linear"}, {"factor", 4}})->ropes.front().scaling == RopeScaling::linear);
}

void ModelConfigTest::llama3_scaling_needs_its_factors() {
  const Error error = refusal_of(read_with("rope_scaling", {{"rope_type", "llama3"}}));
  for (const char* key : {"rope_scaling.factor", "rope_scaling.low_freq_factor", "rope_scaling.high_freq_factor"}) {
    QVERIFY2(contains(error.message, key), error.message.c_str());
  }
}

void ModelConfigTest::llama3_original_context_may_stand_outside() {
  Json config = base_config();
  config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}};
  QCOMPARE(read_model_config(config)->ropes.front().original_max_position_embeddings, 256);
  config["original_max_position_embeddings"] = 64;
  QCOMPARE(read_model_config(config)->ropes.front().original_max_position_embeddings, 64);
}

void ModelConfigTest::default_rope_type_is_no_scaling() {
  QCOMPARE(describe_scaling(read_with("rope_scaling", {{"rope_type", "default"}})->ropes.front()), std::string("none"));
}

void ModelConfigTest::unknown_rope_types_are_unmet_data() {
  QTest::addColumn<QString>("type");
  for (const char* type : {"proportional", "spiral", ""}) QTest::newRow(type) << type;
}

void ModelConfigTest::unknown_rope_types_are_unmet() {
  QFETCH(QString, type);
  const Error error = refusal_of(read_with("rope_scaling", {{"rope_type", type.toStdString()}, {"factor", 2}}));
  QVERIFY(error.code == ErrorCode::model_refused);
  QVERIFY(contains(error.message, "RoPE scaling '" + type.toStdString() + "'"));
  QVERIFY(contains(error.message, "known: default, linear, dynamic, llama3, yarn, longrope"));
}

void ModelConfigTest::rope_per_layer_type_is_unmet() {
  QVERIFY(contains(refusal_of(read_with("rope_parameters", {{"full_attention", Json::object()}})).message,
                   "RoPE per layer type"));
}

void ModelConfigTest::unknown_activation_is_unmet() {
  QVERIFY(contains(refusal_of(read_with("hidden_act", "mish")).message, "activation 'mish'"));
}

void ModelConfigTest::all_unmet_wishes_are_listed() {
  Json config = base_config();
  config["hidden_act"] = "mish";
  config["sliding_window"] = 4096;
  config["rope_scaling"] = {{"rope_type", "spiral"}};
  const Error error = refusal_of(read_model_config(config));
  for (const char* part : {"asks for features that are not supported", "mish", "sliding_window", "spiral"}) {
    QVERIFY2(contains(error.message, part), error.message.c_str());
  }
}

void ModelConfigTest::neutral_knobs_are_fine() {
  Json config = base_config();
  config["sliding_window"] = nullptr;
  config["use_qk_norm"] = false;
  config["partial_rotary_factor"] = 1.0;
  config["num_local_experts"] = 0;
  config["quantization_config"] = Json::object();
  QVERIFY(read_model_config(config).has_value());
}

void ModelConfigTest::active_knobs_are_unmet_data() {
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  QTest::newRow("window") << "sliding_window"
                          << "4096";
  QTest::newRow("softcap") << "final_logit_softcapping"
                           << "30.0";
  QTest::newRow("qk norm") << "use_qk_norm"
                           << "true";
  QTest::newRow("partial rotary") << "partial_rotary_factor"
                                  << "0.5";
  QTest::newRow("experts") << "num_local_experts"
                           << "8";
  QTest::newRow("no rope layers") << "no_rope_layers"
                                  << "[1, 0]";
  QTest::newRow("multiplier") << "embedding_multiplier"
                              << "12.0";
}

void ModelConfigTest::active_knobs_are_unmet() {
  QFETCH(QString, key);
  QFETCH(QString, value);
  const Error error = refusal_of(read_with(key.toStdString(), json_of(value)));
  QVERIFY(error.code == ErrorCode::model_refused);
  QVERIFY(contains(error.message, "(" + key.toStdString() + ")"));
}

void ModelConfigTest::all_missing_keys_are_listed() {
  const Error error = refusal_of(read_model_config({{"architectures", {"LlamaForCausalLM"}}}));
  QCOMPARE(error.where, std::string("config.json"));
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"}) {
    QVERIFY2(contains(error.message, key), error.message.c_str());
  }
}

void ModelConfigTest::L20_unknown_architecture_is_named() {
  Json config = base_config();
  config["architectures"] = {"NoSuchForCausalLM"};
  const Error error = refusal_of(read_model_config(config));
  QCOMPARE(error.where, std::string("config.json: architectures"));
  QCOMPARE(error.message, std::string("'NoSuchForCausalLM' is not one of the model families that are read"));
}

void ModelConfigTest::L20_no_architecture() {
  QVERIFY(contains(refusal_of(read_model_config(Json::object())).message, "missing: architectures"));
  QVERIFY(!read_model_config({{"architectures", Json::array()}}).has_value());
  QVERIFY(!read_model_config({{"architectures", 7}}).has_value());
}

void ModelConfigTest::L20_bad_values_name_the_field_data() {
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  QTest::newRow("negative") << "hidden_size"
                            << "-64";
  QTest::newRow("zero") << "num_attention_heads"
                        << "0";
  QTest::newRow("huge") << "num_hidden_layers"
                        << "1000000000";
  QTest::newRow("string") << "vocab_size"
                          << "\"384\"";
  QTest::newRow("fraction") << "hidden_size"
                            << "64.5";
  QTest::newRow("list") << "intermediate_size"
                        << "[96]";
  QTest::newRow("2^63") << "max_position_embeddings"
                        << "9223372036854775808";
  QTest::newRow("2^64 - 1") << "max_position_embeddings"
                            << "18446744073709551615";
  QTest::newRow("NaN spelled out") << "rope_theta"
                                   << "\"NaN\"";
  QTest::newRow("theta of zero") << "rope_theta"
                                 << "0";
  QTest::newRow("theta beyond reason") << "rope_theta"
                                       << "1e300";
  QTest::newRow("negative eps") << "rms_norm_eps"
                                << "-1";
  QTest::newRow("tie as number") << "tie_word_embeddings"
                                 << "1";
  QTest::newRow("odd head size") << "head_dim"
                                 << "15";
  QTest::newRow("activation as number") << "hidden_act"
                                        << "1";
}

void ModelConfigTest::L20_bad_values_name_the_field() {
  QFETCH(QString, key);
  QFETCH(QString, value);
  const Error error = refusal_of(read_with(key.toStdString(), json_of(value)));
  QVERIFY(error.code == ErrorCode::model_refused);
  QCOMPARE(error.where, "config.json: " + key.toStdString());
  QVERIFY(contains(error.message, "expected"));
}

void ModelConfigTest::L20_heads_must_divide() {
  QCOMPARE(refusal_of(read_with("num_key_value_heads", 3)).where, std::string("config.json: num_key_value_heads"));
  QCOMPARE(refusal_of(read_with("num_attention_heads", 3)).where, std::string("config.json: hidden_size"));
  QCOMPARE(refusal_of(read_with("num_key_value_heads", 8)).where, std::string("config.json: num_key_value_heads"));
}

void ModelConfigTest::L20_long_list_of_eos() {
  const Error error = refusal_of(read_with("eos_token_id", Json(std::vector<int>(1'000'000, 2))));
  QCOMPARE(error.where, std::string("config.json: eos_token_id"));
  QVERIFY(contains(error.message, "list of 1000000"));
}

void ModelConfigTest::ids_that_are_no_tokens_are_left_out_data() {
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("named");
  const auto row = [](const char* name, const char* key, const char* value, const char* named) {
    QTest::newRow(name) << QString(key) << QString(value) << QString(named);
  };
  row("the first behind", "eos_token_id", "384", "384");
  row("in a list", "eos_token_id", "[2, 999999]", "999999");
  row("negative", "eos_token_id", "[-1]", "-1");
  row("bos as text", "bos_token_id", "\"<s>\"", "\"<s>\"");
  row("bos behind", "bos_token_id", "384", "384");
}

void ModelConfigTest::ids_that_are_no_tokens_are_left_out() {
  QFETCH(QString, key);
  QFETCH(QString, value);
  QFETCH(QString, named);
  const auto config = read_with(key.toStdString(), json_of(value));
  QVERIFY2(config.has_value(), config ? "" : config.error().message.c_str());
  const Json whole = {{key.toStdString(), json_of(value)}};
  QCOMPARE(warnings_of_token_ids(whole, 384, "config.json"),
           std::vector<std::string>{"config.json: " + key.toStdString() + ": " + named.toStdString() +
                                    " is left out: the vocabulary has the ids 0 to 383"});
  if (key == "bos_token_id") QVERIFY(!config->bos_id.has_value());
  else QCOMPARE(config->eos_ids, value.contains("2,") ? std::vector<std::int32_t>{2} : std::vector<std::int32_t>{});
}

void ModelConfigTest::L20_rope_factor_is_bounded_data() {
  QTest::addColumn<QString>("factor");
  for (const char* factor : {"-2", "0", "0.5", "1e7", "1e308", "\"8\"", "[8]", "true"}) QTest::newRow(factor) << factor;
}

void ModelConfigTest::L20_rope_factor_is_bounded() {
  QFETCH(QString, factor);
  for (const char* type : {"linear", "llama3"}) {
    const Error error = refusal_of(
        read_with("rope_scaling",
                  {{"rope_type", type}, {"factor", json_of(factor)}, {"low_freq_factor", 1}, {"high_freq_factor", 4}}));
    QVERIFY(error.code == ErrorCode::model_refused);
    QCOMPARE(error.where, std::string("config.json: rope_scaling.factor"));
    QVERIFY(contains(error.message, "expected a number in 1"));
  }
}

void ModelConfigTest::L20_huge_but_legal_sizes_do_not_overflow() {
  Json config = base_config();
  config["vocab_size"] = kMaxVocab;
  config["hidden_size"] = kMaxWidth;
  config["intermediate_size"] = kMaxWidth;
  config["num_hidden_layers"] = kMaxLayers;
  config["num_attention_heads"] = kMaxHeads;
  config["num_key_value_heads"] = kMaxHeads;
  config["head_dim"] = kMaxHeadDim;
  config["max_position_embeddings"] = kMaxPositions;
  const auto read = read_model_config(config);
  QVERIFY(read.has_value());
  QCOMPARE(read->q_size(), std::int64_t{1} << 24);
}

LATHE_TEST(ModelConfigTest)

}  // namespace model_config_test
#include "model_config_test.moc"
