// SPDX-License-Identifier: Apache-2.0
// config.json as publishers spell it: other capitals, older keys, parts that leave out what their class stands for.
#include <QTest>
#include <cmath>

#include "engine/model/architectures.h"
#include "engine/model/model_config.h"
#include "tests/support/test_class.h"

namespace published_configs_test {

using namespace lathe::engine;

namespace {

/// "where: message"; empty: it is read.
std::string refusal(const Json& config) {
  const auto read = read_model_config(config);
  return read ? std::string() : read.error().where + ": " + read.error().message;
}

struct Published {
  const char* model;
  const char* config;
  const char* architecture;
  // vocabulary, width, inner width, layers, heads, KV heads, size of a head, context
  std::int64_t sizes[8];
};

constexpr Published kPublished[] = {
    {"mosaicml/mpt-7b",
     R"({"architectures": ["MPTForCausalLM"], "attn_config": {"alibi": true, "alibi_bias_max": 8, "attn_impl": "torch",
         "attn_pdrop": 0, "attn_type": "multihead_attention", "attn_uses_sequence_id": false, "clip_qkv": null,
         "prefix_lm": false, "qk_ln": false, "softmax_scale": null},
         "auto_map": {"AutoConfig": "configuration_mpt.MPTConfig", "AutoModelForCausalLM": "modeling_mpt.MPTForCausalLM"},
         "d_model": 4096, "emb_pdrop": 0, "embedding_fraction": 1.0, "expansion_ratio": 4, "learned_pos_emb": true,
         "logit_scale": null, "max_seq_len": 2048, "model_type": "mpt", "n_heads": 32, "n_layers": 32, "no_bias": true,
         "norm_type": "low_precision_layernorm", "resid_pdrop": 0, "use_cache": false, "vocab_size": 50432})",
     "MptForCausalLM",
     {50432, 4096, 16384, 32, 32, 32, 128, 2048}},
    {"baichuan-inc/Baichuan-7B",
     R"({"architectures": ["BaiChuanForCausalLM"],
         "auto_map": {"AutoModelForCausalLM": "modeling_baichuan.BaiChuanForCausalLM"}, "bos_token_id": 1,
         "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008,
         "max_position_embeddings": 4096, "model_type": "baichuan", "num_attention_heads": 32, "num_hidden_layers": 32,
         "pad_token_id": 0, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "vocab_size": 64000})",
     "BaichuanForCausalLM",
     {64000, 4096, 11008, 32, 32, 32, 128, 4096}},
    {"microsoft/Phi-3.5-MoE-instruct, without its lists of factors",
     R"({"architectures": ["PhiMoEForCausalLM"], "attention_bias": true,
         "auto_map": {"AutoModelForCausalLM": "modeling_phimoe.PhiMoEForCausalLM"}, "bos_token_id": 1,
         "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 4096, "input_jitter_noise": 0.01,
         "intermediate_size": 6400, "lm_head_bias": true, "max_position_embeddings": 131072, "model_type": "phimoe",
         "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
         "num_local_experts": 16, "original_max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
         "router_jitter_noise": 0.01, "sliding_window": 131072, "tie_word_embeddings": false, "vocab_size": 32064})",
     "PhimoeForCausalLM",
     {32064, 4096, 6400, 32, 32, 8, 128, 131072}},
    {"bigscience/bloom-560m",
     R"({"apply_residual_connection_post_layernorm": false, "architectures": ["BloomForCausalLM"], "bos_token_id": 1,
         "eos_token_id": 2, "layer_norm_epsilon": 1e-05, "model_type": "bloom", "n_embed": 1024, "n_inner": null,
         "n_layer": 24, "num_attention_heads": 16, "offset_alibi": 100, "pretraining_tp": 1, "seq_length": 2048,
         "skip_bias_add": true, "use_cache": true, "vocab_size": 250880})",
     "BloomForCausalLM",
     {250880, 1024, 4096, 24, 16, 16, 64, 2048}},
    {"tiiuae/falcon-7b, as it was first",
     R"({"alibi": false, "apply_residual_connection_post_layernorm": false, "architectures": ["RWForCausalLM"],
         "auto_map": {"AutoModelForCausalLM": "modelling_RW.RWForCausalLM"}, "bias": false, "bos_token_id": 11,
         "eos_token_id": 11, "hidden_size": 4544, "layer_norm_epsilon": 1e-05, "model_type": "RefinedWebModel",
         "multi_query": true, "n_head": 71, "n_layer": 32, "parallel_attn": true, "vocab_size": 65024})",
     "FalconForCausalLM",
     {65024, 4544, 18176, 32, 71, 1, 64, 2048}},
    {"tiiuae/falcon-40b, as it was first",
     R"({"alibi": false, "apply_residual_connection_post_layernorm": false, "architectures": ["RWForCausalLM"],
         "bias": false, "bos_token_id": 11, "eos_token_id": 11, "hidden_size": 8192, "layer_norm_epsilon": 1e-05,
         "model_type": "RefinedWeb", "n_head": 128, "n_head_kv": 8, "n_layer": 60, "parallel_attn": true,
         "vocab_size": 65024})",
     "FalconForCausalLM",
     {65024, 8192, 32768, 60, 128, 8, 64, 2048}},
    {"google/gemma-3-4b-it",
     R"({"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "eoi_token_index": 256000,
         "eos_token_id": [1, 106], "image_token_index": 262144, "mm_tokens_per_image": 256, "model_type": "gemma3",
         "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
                         "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                         "sliding_window": 1024},
         "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"}})",
     "Gemma3ForCausalLM",
     {262208, 2560, 10240, 34, 8, 4, 256, 131072}},
    {"google/gemma-3-27b-it",
     R"({"architectures": ["Gemma3ForConditionalGeneration"], "eos_token_id": [1, 106], "model_type": "gemma3",
         "text_config": {"head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text",
                         "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16,
                         "query_pre_attn_scalar": 168, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                         "sliding_window": 1024},
         "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"}})",
     "Gemma3ForCausalLM",
     {262208, 5376, 21504, 62, 32, 16, 128, 131072}},
    {"llava-hf/llava-1.5-7b-hf",
     R"({"architectures": ["LlavaForConditionalGeneration"], "ignore_index": -100, "image_token_index": 32000,
         "model_type": "llava", "pad_token_id": 32001, "projector_hidden_act": "gelu",
         "text_config": {"_name_or_path": "lmsys/vicuna-7b-v1.5", "architectures": ["LlamaForCausalLM"],
                         "max_position_embeddings": 4096, "model_type": "llama", "rms_norm_eps": 1e-05,
                         "torch_dtype": "float16", "vocab_size": 32064},
         "vision_config": {"hidden_size": 1024, "model_type": "clip_vision_model"}})",
     "LlamaForCausalLM",
     {32064, 4096, 11008, 32, 32, 32, 128, 4096}},
    {"llava-hf/llava-v1.6-mistral-7b-hf",
     R"({"architectures": ["LlavaNextForConditionalGeneration"], "image_token_index": 32000, "model_type": "llava_next",
         "text_config": {"_name_or_path": "mistralai/Mistral-7B-Instruct-v0.2", "architectures": ["MistralForCausalLM"],
                         "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
                         "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null,
                         "torch_dtype": "bfloat16", "vocab_size": 32064},
         "vision_config": {"hidden_size": 1024, "model_type": "clip_vision_model"}})",
     "MistralForCausalLM",
     {32064, 4096, 14336, 32, 32, 8, 128, 32768}},
};

Json config_of(const char* model) {
  for (const Published& row : kPublished) {
    if (std::string_view(row.model) == model) return Json::parse(row.config);
  }
  return {};
}

}  // namespace

class PublishedConfigsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void sizes_are_those_of_the_model_data() {
    QTest::addColumn<int>("row");
    int row = 0;
    for (const Published& published : kPublished) QTest::newRow(published.model) << row++;
  }
  void sizes_are_those_of_the_model() {
    QFETCH(int, row);
    const Published& published = kPublished[row];
    const auto config = read_model_config(Json::parse(published.config));
    QVERIFY2(config.has_value(), config ? "" : (config.error().where + ": " + config.error().message).c_str());
    QCOMPARE(config->architecture->name, std::string_view(published.architecture));
    const std::int64_t sizes[] = {
        config->vocab_size, config->hidden_size, config->intermediate_size, config->n_layers,
        config->n_heads,    config->n_kv_heads,  config->head_dim,          config->max_position_embeddings};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      QVERIFY2(sizes[i] == published.sizes[i], QByteArray::number(static_cast<int>(i)).constData());
    }
  }

  void gemma_3_has_its_windows_and_its_scales() {
    const auto of_4b = read_model_config(config_of("google/gemma-3-4b-it")).value();
    QCOMPARE(of_4b.eos_ids, (std::vector<std::int32_t>{1, 106}));
    QVERIFY(of_4b.tied_embeddings);
    QVERIFY(of_4b.layers[4].window == 1024 && of_4b.layers[5].window == 0);
    QVERIFY(of_4b.ropes[0].factor == 8 && of_4b.ropes[1].factor == 1);
    QCOMPARE(of_4b.attention_scale, 1 / 16.0);
    QCOMPARE(read_model_config(config_of("google/gemma-3-27b-it"))->attention_scale, 1 / std::sqrt(168.0));
  }

  void the_first_falcons_are_those_of_today() {
    const auto small = read_model_config(config_of("tiiuae/falcon-7b, as it was first")).value();
    QVERIFY(small.residual == Residual::parallel);
    QVERIFY(read_model_config(config_of("tiiuae/falcon-40b, as it was first"))->residual == Residual::parallel_two_norms);
  }

  /// PhiMoE says what cosines and sines are multiplied with in words of its own.
  void phimoe_has_two_factors_of_attention() {
    Json config = config_of("microsoft/Phi-3.5-MoE-instruct, without its lists of factors");
    config["rope_scaling"] = {{"long_factor", std::vector<double>(64, 2)},
                              {"long_mscale", 1.243163121016122},
                              {"original_max_position_embeddings", 4096},
                              {"short_factor", std::vector<double>(64, 1)},
                              {"short_mscale", 1.2},
                              {"type", "longrope"}};
    const auto read = read_model_config(config);
    QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
    QCOMPARE(rope_waves(read->ropes.front(), 4096).attention_factor, 1.2);
    QCOMPARE(rope_waves(read->ropes.front(), 131072).attention_factor, 1.243163121016122);
  }

  /// A name that no family has is no family's, whatever model_type says: nobody knows what it does otherwise.
  void a_name_that_is_not_known_is_refused() {
    Json config = config_of("baichuan-inc/Baichuan-7B");
    config.erase("auto_map");
    for (const char* other : {"SomeTunedForCausalLM", "SomeForSequenceClassification", "SomeTower"}) {
      config["architectures"] = {other};
      QVERIFY2(refusal(config).find(other) != std::string::npos, refusal(config).c_str());
    }
  }

  /// Only parts leave sizes out.
  void a_whole_without_its_sizes_is_refused() {
    Json config = config_of("llava-hf/llava-1.5-7b-hf")["text_config"];
    QCOMPARE(refusal(config),
             std::string("config.json: missing: hidden_size, intermediate_size, num_hidden_layers, num_attention_heads"));
    config["model_type"] = "marsian";
    QCOMPARE(refusal({{"text_config", config}}),
             std::string("config.json: missing: hidden_size, intermediate_size, num_hidden_layers, num_attention_heads"));
  }

  void a_part_without_a_name_is_of_the_usual_family() {
    Json config = config_of("google/gemma-3-4b-it");
    config["text_config"].erase("model_type");
    QCOMPARE(read_model_config(config)->architecture->name, std::string_view("Gemma3ForCausalLM"));
  }
};

LATHE_TEST(PublishedConfigsTest)

}  // namespace published_configs_test
#include "published_configs_test.moc"
