// SPDX-License-Identifier: Apache-2.0
// The table of families, row by row: each has fixtures of its own, and reads what others would call a knob.
#include "engine/model/architectures.h"

#include <QTest>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/model/model_config.h"
#include "engine/model/weight_roles.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace architectures_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

std::string folder() { return tests::source_path("tests/fixtures/families"); }

Json config_of(const std::string& family) { return tests::read_json_file(folder() + "/" + family + "/config.json"); }

using Windows = std::vector<std::int64_t>;

/// The window of each layer; empty: the config is refused.
Windows windows_of(const Json& config) {
  Windows windows;
  const auto read = read_model_config(config);
  if (!read) return windows;
  for (const LayerConfig& layer : read->layers) windows.push_back(layer.window);
  return windows;
}

}  // namespace

class ArchitecturesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_family_has_a_name_of_its_own() {
    std::set<std::string_view> names;
    for (const Architecture* row : architectures()) {
      QVERIFY(names.insert(row->name).second && names.insert(row->model_type).second);
      QCOMPARE(find_architecture(row->name), row);
      QCOMPARE(find_architecture(row->model_type), row);
    }
    QVERIFY(find_architecture("NoSuchForCausalLM") == nullptr);
  }

  void every_family_has_a_fixture() {
    std::set<std::string> there;
    for (const std::string& all : {folder(), tests::source_path("tests/fixtures/embeddings")}) {
      for (const auto& entry : std::filesystem::directory_iterator(all)) {
        if (!entry.is_directory()) continue;
        const Json config = tests::read_json_file(entry.path().string() + "/config.json");
        there.insert(config.at("model_type").get<std::string>());
        if (config.contains("text_config")) there.insert(config["text_config"].at("model_type").get<std::string>());
      }
    }
    for (const Architecture* row : architectures()) {
      QVERIFY2(there.contains(std::string(row->model_type)), row->model_type.data());
    }
  }

  void no_family_names_a_tensor_twice() {
    for (const Architecture* row : architectures()) {
      std::set<std::string_view> patterns;
      for (const TensorName& name : row->tensors) {
        QVERIFY2(patterns.insert(name.pattern).second, name.pattern.data());
        QVERIFY2(is_of_layer(name.role) == (name.pattern.find("{}") != std::string_view::npos), name.pattern.data());
      }
    }
  }

  /// A missing sliding window of Mistral is the one of its first release; null is none.
  void null_is_said_where_absence_is_not() {
    Json config = config_of("mistral");
    config["sliding_window"] = nullptr;
    QCOMPARE(read_model_config(config)->layers.front().window, 0);
    config.erase("sliding_window");
    QCOMPARE(read_model_config(config)->layers.front().window, 4096);
  }

  void layer_types_decide_where_they_are_listed() {
    Json config = config_of("gemma2");
    config["layer_types"] = {"full_attention", "sliding_attention"};
    QCOMPARE(read_model_config(config)->layers[0].window, 0);
    QCOMPARE(read_model_config(config)->layers[1].window, 12);
    config.erase("layer_types");
    QCOMPARE(read_model_config(config)->layers[0].window, 12);
    QCOMPARE(read_model_config(config)->layers[1].window, 0);
    config["layer_types"] = {"full_attention"};
    QVERIFY(!read_model_config(config));
    config["layer_types"] = {"full_attention", "linear_attention"};
    QVERIFY(read_model_config(config).error().message.find("linear_attention") != std::string::npos);
  }

  void qwen_slides_from_a_layer_on_if_at_all() {
    Json config = config_of("qwen2");
    config.erase("layer_types");
    QCOMPARE(read_model_config(config)->layers[0].window, 0);
    QCOMPARE(read_model_config(config)->layers[1].window, 12);
    config["use_sliding_window"] = false;
    QCOMPARE(read_model_config(config)->layers[1].window, 0);
  }

  /// The same keys as Qwen 2's, read another way.
  void qwen2_moe_slides_in_every_second_layer_below_one() {
    Json config = config_of("qwen2-moe");
    config["num_hidden_layers"] = 5;
    config["use_sliding_window"] = true;
    config["sliding_window"] = 12;
    config["max_window_layers"] = 4;
    config.erase("layer_types");
    QCOMPARE(windows_of(config), (Windows{12, 0, 12, 0, 0}));
    config["max_window_layers"] = 1;
    QCOMPARE(windows_of(config), (Windows{12, 0, 0, 0, 0}));
    config["use_sliding_window"] = false;
    QCOMPARE(windows_of(config), (Windows{0, 0, 0, 0, 0}));
  }

  /// The last layer slides like any other.
  void exaone_slides_by_the_period_of_the_file() {
    Json config = config_of("exaone4");
    config["num_hidden_layers"] = 6;
    config.erase("layer_types");
    config.erase("sliding_window_pattern");
    QCOMPARE(windows_of(config), (Windows{12, 12, 12, 0, 12, 12}));
    config["sliding_window_pattern"] = 5;
    QCOMPARE(windows_of(config), (Windows{12, 12, 12, 12, 0, 12}));
    const auto by_five = read_model_config(config);
    for (const LayerConfig& layer : by_five->layers) QCOMPARE(layer.rope < 0, layer.window == 0);
    config["sliding_window_pattern"] = "LLLG";
    const auto by_word = read_model_config(config);
    QVERIFY(!by_word.has_value() && by_word.error().where.find("sliding_window_pattern") != std::string::npos);
    config["layer_types"] = Json::array();
    for (int i = 0; i < 6; ++i) config["layer_types"].push_back(i == 1 ? "full_attention" : "sliding_attention");
    QCOMPARE(windows_of(config), (Windows{12, 0, 12, 12, 12, 12}));
    config.erase("layer_types");
    config["sliding_window_pattern"] = 0;
    config["sliding_window"] = nullptr;
    QCOMPARE(windows_of(config), (Windows{0, 0, 0, 0, 0, 0}));
  }

  void smollm3_slides_where_nothing_turns() {
    Json config = config_of("smollm3");
    config["no_rope_layers"] = {0, 1};
    config["use_sliding_window"] = true;
    config["sliding_window"] = 12;
    config.erase("layer_types");
    QCOMPARE(windows_of(config), (Windows{12, 0}));
    config["layer_types"] = {"full_attention", "sliding_attention"};
    QCOMPARE(windows_of(config), (Windows{0, 12}));
  }

  void absent_sizes_are_those_of_the_class_and_null_ones_follow() {
    Json config = config_of("seed-oss");
    config["num_attention_heads"] = 16;
    config.erase("num_key_value_heads");
    config.erase("head_dim");
    QCOMPARE(read_model_config(config)->n_kv_heads, 8);
    QCOMPARE(read_model_config(config)->head_dim, 128);
    config["num_key_value_heads"] = config["head_dim"] = nullptr;
    config["hidden_size"] = 64;
    QCOMPARE(read_model_config(config)->n_kv_heads, 16);
    QCOMPARE(read_model_config(config)->head_dim, 4);
  }

  /// RoPE is stretched, and queries grow, where the file says nothing of either.
  void ministral3_has_defaults_of_its_own() {
    Json config = config_of("ministral3");
    config.erase("rope_parameters");
    config["rope_theta"] = 5000;
    const RopeConfig rope = read_model_config(config)->ropes.front();
    QVERIFY(rope.scaling == RopeScaling::yarn && rope.truncate);
    QCOMPARE(rope.theta, 1e6);
    QCOMPARE(rope.factor, 16.0);
    QCOMPARE(rope.original_max_position_embeddings, 16384);
    QCOMPARE(rope.query_growth, 0.1);
    QCOMPARE(rope_waves(rope, 100).attention_factor, 1.0);
    config["rope_scaling"] = {
        {"rope_type", "default"}, {"llama_4_scaling_beta", 0.3}, {"original_max_position_embeddings", 99}};
    const RopeConfig own = read_model_config(config)->ropes.front();
    QVERIFY(own.scaling == RopeScaling::none);
    QCOMPARE(own.theta, 5000.0);
    QCOMPARE(own.query_growth, 0.3);
    QCOMPARE(own.original_max_position_embeddings, 99);
  }

  void slopes_of_falcon_are_rounded() {
    Json config = config_of("falcon-rw");
    config["num_attention_heads"] = 12;
    config["hidden_size"] = 48 * 5;
    const auto read = read_model_config(config);
    QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
    QCOMPARE(read->rounded_alibi_scale, 1 / std::sqrt(20.0));
    for (const float slope : read->alibi_slopes) {
      QCOMPARE(slope, kernels::bf16_to_f32(kernels::f32_to_bf16(slope)));
    }
    QCOMPARE(read->alibi_slopes[8], 0.70703125F);  // not 2^-0.5
    QCOMPARE(read_model_config(config_of("bloom"))->rounded_alibi_scale, 0.0);
  }

  void baichuan_13b_has_slopes_and_7b_turns() {
    Json config = config_of("llama");
    for (const char* key : {"rope_parameters", "num_key_value_heads", "head_dim"}) config.erase(key);
    config["architectures"] = {"BaichuanForCausalLM"};
    QVERIFY(read_model_config(config)->alibi_slopes.empty());
    QVERIFY(!read_model_config(config)->normalises_head);
    config["hidden_size"] = 5120;
    config["num_attention_heads"] = 40;
    config["model_max_length"] = 4096;
    config["vocab_size"] = 125696;
    QCOMPARE(read_model_config(config)->alibi_slopes.size(), std::size_t{40});
    QVERIFY(read_model_config(config)->ropes.empty());
    QVERIFY(read_model_config(config)->normalises_head);
  }

  void what_a_family_cannot_do_is_named_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("key");
    for (const auto& [family, key] : {std::pair("llama", "alibi"),
                                      {"bloom", "apply_residual_connection_post_layernorm"},
                                      {"gemma3", "use_bidirectional_attention"}}) {
      QTest::newRow(key) << family << key;
    }
  }
  void what_a_family_cannot_do_is_named() {
    QFETCH(QString, family);
    QFETCH(QString, key);
    Json config = config_of(family.toStdString());
    QVERIFY(read_model_config(config).has_value());
    config[key.toStdString()] = true;
    const auto read = read_model_config(config);
    QVERIFY(!read.has_value());
    QVERIFY2(read.error().message.find(key.toStdString()) != std::string::npos, read.error().message.c_str());
  }

  /// RoPE is stretched where the file says nothing of it, and every second layer slides.
  void gpt_oss_has_defaults_of_its_own() {
    Json config = config_of("gpt-oss");
    for (const char* key : {"rope_parameters", "layer_types", "sliding_window", "attention_bias", "num_experts_per_tok"}) {
      config.erase(key);
    }
    const auto read = read_model_config(config);
    QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
    const RopeConfig& rope = read->ropes.front();
    QVERIFY(rope.scaling == RopeScaling::yarn && !rope.truncate);
    QCOMPARE(rope.factor, 32.0);
    QCOMPARE(rope.theta, 150000.0);
    QCOMPARE(rope.original_max_position_embeddings, 4096);
    QCOMPARE(read->layers[0].window, 128);
    QCOMPARE(read->layers[1].window, 0);
    QVERIFY(read->qkv_bias && read->attention_out_bias && read->has_sinks && read->moe.has_expert_bias);
    QCOMPARE(read->moe.top_k, 4);
  }

  void gates_that_the_kernels_lack_are_unmet() {
    for (const auto& [key, value] :
         {std::pair<const char*, Json>("swiglu_alpha", 1.0), {"swiglu_limit", 10.0}, {"hidden_act", "gelu"}}) {
      Json config = config_of("gpt-oss");
      config[key] = value;
      const auto read = read_model_config(config);
      QVERIFY(!read.has_value());
      QVERIFY2(read.error().message.find(key) != std::string::npos, read.error().message.c_str());
    }
  }

  /// transformers passes over a key that the family's own code obeys.
  void deepseek_v2_does_not_make_weights_of_experts_one() {
    Json config = config_of("deepseek-v2");
    QVERIFY(read_model_config(config).has_value());
    config["norm_topk_prob"] = true;
    QVERIFY(read_model_config(config).error().message.find("norm_topk_prob") != std::string::npos);
    config["architectures"] = {"DeepseekV3ForCausalLM"};
    config["n_group"] = config["topk_group"] = 1;
    QVERIFY(read_model_config(config)->moe.normalises);
  }

  void gemma_4_settings_that_do_not_fit_are_named_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    QTest::addColumn<QString>("named");
    const auto row = [](const char* family, const char* change, const char* named) {
      QTest::newRow(change) << family << change << named;
    };
    row("gemma4", R"({"use_bidirectional_attention": "all"})", "attention to later tokens");
    row("gemma4", R"({"per_layer_config": {"5": {"head_dim": 24}}})", "expected the sizes of one of 5 layers");
    row("gemma4", R"({"per_layer_config": {"-1": {"head_dim": 24}}})", "expected the sizes of one of 5 layers");
    row("gemma4", R"({"per_layer_config": {"2": {"sliding_window": 24}}})", "sliding_window by layer (per_layer_config.2)");
    row("gemma4", R"({"per_layer_config": {"2": {"head_dim": 24}, "4": {"head_dim": 20}}})",
        "head_dim is 24 and 20 in layers");
    row("gemma4", R"({"per_layer_config": {"2": {"head_dim": 23}, "4": {"head_dim": 23}}})",
        "got 23, expected an even number");
    row("gemma4", R"({"per_layer_config": {"2": {"num_key_value_heads": 3}}})", "got 3, expected a divisor");
    row("gemma4-per-layer", R"({"num_kv_shared_layers": 5})", "num_kv_shared_layers");
    row("gemma4-per-layer", R"({"num_kv_shared_layers": 3})", "no layer before 2 has the type of layer 2");
    row("gemma4-per-layer", R"({"vocab_size_per_layer_input": 95})", "got 95, expected at least vocab_size 96");
    row("gemma4-moe", R"({"top_k_experts": 7})", "there are only 6 experts");
    row("gemma4-moe", R"({"num_experts": null})", "num_experts");
    row("gemma4", R"({"rope_parameters": {"full_attention": {"rope_type": "other"}}})", "RoPE scaling 'other'");
    row("llama", R"({"rope_parameters": {"rope_type": "proportional"}})", "RoPE scaling 'proportional'");
    row("gemma3n", R"({"altup_num_inputs": 3})", "3 residual streams (altup_num_inputs; known: 4)");
    row("gemma3n", R"({"altup_active_idx": 4})", "altup_active_idx");
    row("gemma3n", R"({"intermediate_size": [80, 80]})", "got a list of 2, expected one for each of 5 layers");
    row("gemma3n", R"({"activation_sparsity_pattern": 1.0})", "activation_sparsity_pattern");
    row("gemma3n", R"({"hidden_size_per_layer_input": 0})", "layers without per-layer embeddings");
  }
  void gemma_4_settings_that_do_not_fit_are_named() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    QFETCH(QString, named);
    Json config = config_of(family.toStdString());
    QVERIFY(read_model_config(config).has_value());
    config.update(Json::parse(change.toStdString()));
    const auto read = read_model_config(config);
    QVERIFY(!read.has_value());
    const std::string text = read.error().where + ": " + read.error().message;
    QVERIFY2(text.find(named.toStdString()) != std::string::npos, text.c_str());
  }

  /// Absent keys have the values of the class that model_type names.
  void gemma_4_has_defaults_of_its_own() {
    Json config = config_of("gemma4");
    for (const char* key : {"rope_parameters", "layer_types", "sliding_window", "per_layer_config", "attention_k_eq_v",
                            "hidden_size_per_layer_input", "vocab_size_per_layer_input", "max_position_embeddings"}) {
      config.erase(key);
    }
    const auto small = read_model_config(config);
    QVERIFY2(small.has_value(), small ? "" : small.error().message.c_str());
    QCOMPARE(small->layers.front().window, 512);
    QCOMPARE(small->layers.back().window, 0);
    QCOMPARE(small->head_dim_of(small->layers.back()), 512);
    QCOMPARE(small->ropes.front().n_rotated_pairs, 64);
    QCOMPARE(small->per_layer.size, 256);
    QCOMPARE(small->max_position_embeddings, 131072);
    config["architectures"] = {"Gemma4UnifiedForCausalLM"};
    config["model_type"] = "gemma4_unified_text";
    const auto unified = read_model_config(config);
    QVERIFY2(unified.has_value(), unified ? "" : unified.error().message.c_str());
    QCOMPARE(unified->layers.front().window, 1024);
    QCOMPARE(unified->max_position_embeddings, 262144);
    QVERIFY(!unified->per_layer.exists());
  }

  /// One value for all layers, a list, or nothing: then the first ten of more than ten layers are sparse.
  void gemma_3n_has_sizes_by_layer() {
    Json config = config_of("gemma3n");
    config["intermediate_size"] = {80, 80, 80, 64, 64};
    config["activation_sparsity_pattern"] = 0.5;
    const auto listed = read_model_config(config);
    QVERIFY2(listed.has_value(), listed ? "" : listed.error().message.c_str());
    QCOMPARE(listed->inner_of(listed->layers[2]), 80);
    QCOMPARE(listed->inner_of(listed->layers[3]), 64);
    QCOMPARE(listed->layers[4].activation_sparsity, 0.5);
    config = config_of("gemma3n-uneven");
    config["num_hidden_layers"] = 11;
    config["num_kv_shared_layers"] = 4;
    for (const char* key : {"activation_sparsity_pattern", "intermediate_size"}) config.erase(key);
    const auto usual = read_model_config(config);
    QVERIFY2(usual.has_value(), usual ? "" : usual.error().message.c_str());
    QCOMPARE(usual->layers[9].activation_sparsity, 0.95);
    QCOMPARE(usual->layers[10].activation_sparsity, 0.0);
    QCOMPARE(usual->layers[9].kv_source, 4);
    QCOMPARE(usual->layers[10].kv_source, 6);
  }

  void norms_of_single_heads_have_no_bias() {
    const auto read = read_model_config(config_of("stablelm-12b"));
    QVERIFY(read.has_value());
    QVERIFY(read->qk_norm == QkNorm::own_heads && !read->qk_norm_form.has_bias && read->norm.has_bias);
    QCOMPARE(n_parts_of(WeightRole::q_head_norm, *read), read->n_heads);
    QCOMPARE(n_parts_of(WeightRole::k_head_norm, *read), read->n_kv_heads);
    QCOMPARE(shape_of(WeightRole::q_head_norm, *read), (std::vector<std::int64_t>{read->head_dim}));
    QCOMPARE(n_parts_of(WeightRole::q_norm, *read), 0);
  }

  void more_experts_than_there_are_is_a_fault() {
    Json config = config_of("mixtral");
    config["num_experts_per_tok"] = 5;
    const auto read = read_model_config(config);
    QVERIFY(!read.has_value());
    QVERIFY2(read.error().message.find("there are only 4 experts") != std::string::npos, read.error().message.c_str());
  }
};

LATHE_TEST(ArchitecturesTest)

}  // namespace architectures_test
#include "architectures_test.moc"
