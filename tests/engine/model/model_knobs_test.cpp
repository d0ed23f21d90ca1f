// SPDX-License-Identifier: Apache-2.0
// The knobs that a model is said to have, over the configs of all families.
#include <QTest>
#include <filesystem>

#include "engine/api/model_knobs.h"
#include "engine/model/model_knobs.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace model_knobs_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

OrderedJson knobs_of_family(std::string_view name) {
  return knobs_of(read_model_config(read_json_file(family_path(name) + "/config.json")).value());
}

std::string dumped(const OrderedJson& json) { return dump_json(json); }

}  // namespace

class ModelKnobsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_family_has_the_same_names();
  void numbers_of_attention();
  void recurrent_layers_and_their_state();
  void ropes_say_what_their_scaling_reads();
  void layers_are_told_one_by_one();
  void experts_and_latent_attention();
  void positions_of_every_kind();
  void norms_and_residuals();
  void ends_and_the_rule_of_bos_come_from_the_tokenizer();
  void another_tokenizer_may_be_named();
  void a_model_without_a_tokenizer_has_no_rule();
  void a_missing_model_is_not_found();
};

void ModelKnobsTest::every_family_has_the_same_names() {
  const auto names = [](const OrderedJson& knobs) {
    std::vector<std::string> all;
    for (const auto& [name, value] : knobs.items()) all.push_back(name);
    return all;
  };
  const std::vector<std::string> expected = names(knobs_of_family("llama"));
  QVERIFY(expected.size() > 30);
  for (const WrittenFamily& family : written_families()) {
    const OrderedJson knobs = knobs_of_family(family.name);
    QCOMPARE(names(knobs), expected);
    const auto n_layers = read_model_config(read_json_file(family_path(family.name) + "/config.json"))->n_layers;
    for (const char* list : {"rope_of_layers", "window_of_layers", "score_factor_of_layers", "mixer_of_layers"}) {
      QCOMPARE(static_cast<std::int64_t>(knobs[list].size()), n_layers);
    }
  }
}

void ModelKnobsTest::recurrent_layers_and_their_state() {
  const OrderedJson qwen = knobs_of_family("qwen3-5-uneven");
  QCOMPARE(dumped(qwen["mixer_of_layers"]),
           std::string(R"(["gated_delta_net","gated_delta_net","attention","gated_delta_net","gated_delta_net"])"));
  QVERIFY(qwen["output_gate"] == true && qwen["norm"]["plus_one"] == true);
  const OrderedJson& net = qwen["gated_delta_net"];
  QVERIFY(net["key_heads"] == 3 && net["heads"] == 9 && net["key_dim"] == 10 && net["value_dim"] == 14);
  QCOMPARE(net["state_values"].get<int>(), 9 * 10 * 14 + 2 * (2 * 30 + 126));
  const OrderedJson llama = knobs_of_family("llama");
  QVERIFY(llama["gated_delta_net"].is_null() && llama["output_gate"] == false);
}

void ModelKnobsTest::numbers_of_attention() {
  const OrderedJson gemma2 = knobs_of_family("gemma2");
  QVERIFY(gemma2["attention_soft_cap"].get<double>() > 0 && gemma2["logit_soft_cap"].get<double>() > 0);
  QVERIFY(gemma2["attention_scale"].get<double>() > 0);
  const OrderedJson llama = knobs_of_family("llama");
  QCOMPARE(dumped(llama["heads"]) + dumped(llama["kv_heads"]) + dumped(llama["head_dim"]), std::string("4216"));
  QVERIFY(llama["attention_soft_cap"].is_null() && llama["clip_qkv"].is_null());
  QVERIFY(knobs_of_family("mpt")["clip_qkv"].is_number());
  QVERIFY(knobs_of_family("gpt-oss")["sinks"] == true);
  QVERIFY(llama["sinks"] == false);
  QVERIFY(knobs_of_family("gpt-oss")["activation"] == "clamped_silu");
  QVERIFY(knobs_of_family("gemma")["activation"] == "gelu_tanh");
  QVERIFY(knobs_of_family("opt")["activation"] == "relu");
  QVERIFY(knobs_of_family("gpt2")["gated_mlp"] == false);
  QVERIFY(knobs_of_family("qwen2")["qkv_bias"] == true);
  QVERIFY(knobs_of_family("qwen2")["attention_out_bias"] == false);
}

void ModelKnobsTest::ropes_say_what_their_scaling_reads() {
  const OrderedJson yarn = knobs_of_family("llama-yarn")["ropes"][0];
  QVERIFY(yarn["scaling"] == "yarn");
  QVERIFY(yarn["factor"] == 4.0 && yarn["beta_fast"] == 8.0 && yarn["beta_slow"] == 1.0);
  QVERIFY(yarn["original_max_position_embeddings"] == 40 && !yarn.contains("low_freq_factor"));
  const OrderedJson llama3 = knobs_of_family("llama")["ropes"][0];
  QVERIFY(llama3["scaling"] == "llama3");
  QVERIFY(llama3.contains("low_freq_factor") && llama3.contains("high_freq_factor") && !llama3.contains("beta_fast"));
  const OrderedJson longrope = knobs_of_family("phi3-longrope")["ropes"][0];
  QVERIFY(longrope["short_factor"].size() == longrope["rotary_dim"].get<std::size_t>() / 2);
  QVERIFY(longrope["long_factor"].size() == longrope["short_factor"].size() && !longrope.contains("factor"));
  const OrderedJson plain = knobs_of_family("glm")["ropes"][0];
  QVERIFY(plain["style"] == "interleaved");
  QVERIFY(plain["scaling"] == "none" && plain["rotary_dim"] == 8 && !plain.contains("factor"));
  QVERIFY(knobs_of_family("ministral3")["ropes"][0]["query_growth"].get<double>() > 0);
  const OrderedJson part = knobs_of_family("gemma4")["ropes"][0];
  QVERIFY(part["scaling"] == "proportional" && part["rotary_dim"] == 24 && part["rotated_pairs"] == 3);
}

void ModelKnobsTest::layers_are_told_one_by_one() {
  const OrderedJson gemma3 = knobs_of_family("gemma3");
  QCOMPARE(gemma3["ropes"].size(), std::size_t{2});
  QVERIFY(gemma3["rope_of_layers"][0] != gemma3["rope_of_layers"][1]);
  QVERIFY(gemma3["window_of_layers"][0].is_number() && gemma3["window_of_layers"][1].is_null());
  const OrderedJson smollm3 = knobs_of_family("smollm3")["rope_of_layers"];
  QVERIFY(std::any_of(smollm3.begin(), smollm3.end(), [](const OrderedJson& rope) { return rope.is_null(); }));
  QVERIFY(std::any_of(smollm3.begin(), smollm3.end(), [](const OrderedJson& rope) { return rope == 0; }));
  QCOMPARE(dumped(knobs_of_family("gpt2-scaled")["score_factor_of_layers"]), std::string("[1.0,0.5]"));
  const OrderedJson gemma4 = knobs_of_family("gemma4"), shared = knobs_of_family("gemma4-per-layer");
  QCOMPARE(dumped(gemma4["kv_heads_of_layers"]), std::string("[2,2,1,2,1]"));
  QCOMPARE(dumped(gemma4["head_dim_of_layers"]), std::string("[16,16,24,16,24]"));
  QCOMPARE(dumped(gemma4["k_is_v_of_layers"]), std::string("[false,false,true,false,true]"));
  QVERIFY(gemma4["v_norm"] == true && gemma4["layer_scalar"] == true && gemma4["per_layer_embeddings"].is_null());
  QVERIFY(gemma4["cached_layers"] == 5 && shared["cached_layers"] == 3);
  QCOMPARE(dumped(shared["kv_source_of_layers"]), std::string("[null,null,null,1,2]"));
  QCOMPARE(dumped(shared["intermediate_of_layers"]), std::string("[80,80,80,160,160]"));
  QCOMPARE(dumped(shared["per_layer_embeddings"]), std::string(R"({"size":8,"vocab_size":96})"));
  QVERIFY(gemma3["kv_source_of_layers"].is_null() && gemma3["cached_layers"] == 3 && gemma3["v_norm"] == false);
}

void ModelKnobsTest::experts_and_latent_attention() {
  const OrderedJson v3 = knobs_of_family("deepseek-v3");
  const OrderedJson& experts = v3["experts"];
  QVERIFY(experts["n_experts"] == 6 && experts["top_k"] == 2 && experts["expert_size"] == 24);
  QVERIFY(experts["score"] == "sigmoid" && experts["group_score"] == "best_two" && experts["n_groups"] == 2);
  QVERIFY(experts["normalises"] == true && experts["scale"] == 1.5 && experts["shared_size"] == 48);
  QCOMPARE(dumped(experts["of_layers"]), std::string("[false,true]"));
  QCOMPARE(dumped(v3["latent_attention"]),
           std::string(R"({"kv_rank":24,"q_rank":20,"qk_nope_head_dim":12,"qk_rope_head_dim":8,"v_dim":10,"bias":true})"));
  QVERIFY(knobs_of_family("deepseek-v2")["latent_attention"]["q_rank"].is_null());
  QVERIFY(knobs_of_family("phimoe")["experts"]["score"] == "sparse_mixer");
  QVERIFY(knobs_of_family("llama")["experts"].is_null() && knobs_of_family("llama")["latent_attention"].is_null());
}

void ModelKnobsTest::positions_of_every_kind() {
  QVERIFY(knobs_of_family("llama")["positions"] == "rope");
  QVERIFY(knobs_of_family("opt")["positions"] == "learned" && knobs_of_family("opt")["position_offset"] == 2);
  const OrderedJson bloom = knobs_of_family("bloom");
  QVERIFY(bloom["positions"] == "alibi" && bloom["alibi_slopes"].size() == bloom["heads"].get<std::size_t>());
  QVERIFY(bloom["rounded_alibi_scale"].is_null());
  QVERIFY(knobs_of_family("falcon-rw")["rounded_alibi_scale"].get<double>() > 0);
  QVERIFY(bloom["ropes"].empty() && bloom["rope_of_layers"][0].is_null());
}

void ModelKnobsTest::norms_and_residuals() {
  const OrderedJson gemma = knobs_of_family("gemma");
  QVERIFY(gemma["norm"]["kind"] == "rms" && gemma["norm"]["plus_one"] == true && gemma["tied_embeddings"] == true);
  QVERIFY(knobs_of_family("gpt2")["norm"]["kind"] == "layer" && knobs_of_family("gpt2")["norm"]["bias"] == true);
  QVERIFY(knobs_of_family("gemma2")["norm_place"] == "around" && knobs_of_family("olmo2")["norm_place"] == "behind");
  QVERIFY(knobs_of_family("falcon-7b")["residual"] == "parallel");
  QVERIFY(knobs_of_family("falcon-40b")["residual"] == "parallel_two_norms");
  QVERIFY(knobs_of_family("qwen3")["qk_norm"] == "head" && knobs_of_family("qwen3")["qk_norm_form"].is_object());
  QVERIFY(knobs_of_family("llama")["qk_norm"] == "none" && knobs_of_family("llama")["qk_norm_form"].is_null());
  QVERIFY(knobs_of_family("granite")["residual_multiplier"] != 1.0);
}

void ModelKnobsTest::ends_and_the_rule_of_bos_come_from_the_tokenizer() {
  const TinyModelCopy model;
  model.set_config("eos_token_id", {2, 9});
  const auto knobs = model_knobs(model.path());
  QVERIFY(knobs.has_value());
  QCOMPARE(dumped((*knobs)["eos_ids"]), std::string("[2,6,9]"));
  QVERIFY((*knobs)["bos_id"] == 1);
  for (const bool adds : {true, false}) {
    model.edit("tokenizer_config.json", [&](Json& config) { config["add_bos_token"] = adds; });
    QVERIFY((*model_knobs(model.path()))["adds_bos"] == adds);
  }
}

void ModelKnobsTest::another_tokenizer_may_be_named() {
  const TinyModelCopy model, other;
  std::filesystem::remove(model.file("tokenizer.model"));
  QVERIFY((*model_knobs(model.path()))["adds_bos"].is_null());
  QVERIFY((*model_knobs(model.path(), other.path()))["adds_bos"].is_boolean());
}

void ModelKnobsTest::a_model_without_a_tokenizer_has_no_rule() {
  const auto knobs = model_knobs(family_path("llama"));
  QVERIFY(knobs.has_value());
  QVERIFY((*knobs)["adds_bos"].is_null());
  QVERIFY((*knobs)["bos_id"] == 1 && (*knobs)["eos_ids"] == OrderedJson::array({2}));
}

void ModelKnobsTest::a_missing_model_is_not_found() {
  QCOMPARE(model_knobs("/nowhere/at/all").error().code, ErrorCode::not_found);
}

LATHE_TEST(ModelKnobsTest)

}  // namespace model_knobs_test
#include "model_knobs_test.moc"
