// SPDX-License-Identifier: Apache-2.0
#include "tests/support/written_families.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/model/model_config.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {
namespace {

// Windows of Mistral, Qwen and StarCoder 2 are not written; the scale of Gemma's scores follows from its sizes, the layers
// that slide in Gemma 3 and Cohere 2 and those that turn in SmolLM 3 from their number; nothing says PhiMoE's jitter.
// Llama's and Phi's factors, what Q of Ministral 3 grows by, and the scale of DeepSeek's scores are written in f32, as are
// the epsilon and theta of uneven checkpoints.
constexpr std::array kFamilies = {
    WrittenFamily{.name = "afmoe", .refused = "sliding windows", .unsaid = R"({"layer_types": null})", .allowed = 1e-05},
    WrittenFamily{.name = "afmoe-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"mup_enabled": true, "global_attn_every_n_layers": null})",
                  .allowed = 1e-05,
                  .has_file = false},
    WrittenFamily{.name = "arcee"},
    WrittenFamily{.name = "arcee-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "baichuan"},
    WrittenFamily{.name = "baichuan-uneven", .has_file = false},
    WrittenFamily{.name = "bloom"},
    WrittenFamily{.name = "bloom-uneven", .has_file = false},
    WrittenFamily{.name = "cohere"},
    WrittenFamily{.name = "cohere-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "cohere2", .refused = "sliding windows", .unsaid = R"({"layer_types": null})"},
    WrittenFamily{.name = "cohere2-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"sliding_window_pattern": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "deepseek-v2", .allowed = 1e-6},
    WrittenFamily{.name = "deepseek-v2-dense"},
    WrittenFamily{.name = "deepseek-v2-groups"},
    WrittenFamily{.name = "deepseek-v2-uneven",
                  .refused = "RoPE",
                  .unsaid = R"({"rope_parameters": {"mscale": 0.9}})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "deepseek-v3"},
    WrittenFamily{.name = "deepseek-v3-fused", .has_file = false},
    WrittenFamily{.name = "deepseek-v3-uneven",
                  .refused = "RoPE",
                  .unsaid = R"({"rope_interleave": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "dots1"},
    WrittenFamily{.name = "dots1-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"sliding_window": null, "layer_types": null})",
                  .allowed = 1e-05,
                  .has_file = false},
    WrittenFamily{.name = "ernie4-5"},
    WrittenFamily{.name = "ernie4-5-moe"},
    WrittenFamily{.name = "ernie4-5-moe-uneven", .refused = "layers with experts", .is_written = false, .has_file = false},
    WrittenFamily{.name = "ernie4-5-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "exaone-moe"},
    WrittenFamily{.name = "exaone-moe-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "exaone4"},
    WrittenFamily{.name = "exaone4-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "falcon-11b"},
    WrittenFamily{.name = "falcon-40b"},
    WrittenFamily{.name = "falcon-40b-uneven", .refused = "biases", .is_written = false, .has_file = false},
    WrittenFamily{.name = "falcon-7b"},
    WrittenFamily{.name = "falcon-7b-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "falcon-rw", .refused = "ALiBi", .is_written = false, .has_file = false},
    WrittenFamily{.name = "falcon-rw-uneven", .refused = "ALiBi", .is_written = false, .has_file = false},
    WrittenFamily{.name = "gemma"},
    WrittenFamily{.name = "gemma-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "gemma2", .refused = "scale of attention", .unsaid = R"({"query_pre_attn_scalar": 16})"},
    WrittenFamily{.name = "gemma2-uneven",
                  .refused = "scale of attention",
                  .unsaid = R"({"query_pre_attn_scalar": 10})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{
        .name = "gemma3",
        .refused = "sliding windows",
        .unsaid =
            R"({"query_pre_attn_scalar": 16, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention"]})"},
    WrittenFamily{.name = "gemma3-uneven",
                  .refused = "scale of attention",
                  .unsaid = R"({"query_pre_attn_scalar": 10, "sliding_window_pattern": null,
                      "rope_parameters": {"sliding_attention": {"rope_theta": 10000.0}}})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "gemma3n", .allowed = 1e-4},
    WrittenFamily{.name = "gemma3n-uneven",
                  .refused = "residual streams",
                  .unsaid = R"({"altup_correct_scale": null})",
                  .allowed = 1e-4,
                  .has_file = false},
    WrittenFamily{.name = "gemma4"},
    WrittenFamily{.name = "gemma4-moe"},
    WrittenFamily{.name = "gemma4-moe-uneven", .allowed = 5e-5, .has_file = false},
    WrittenFamily{.name = "gemma4-per-layer"},
    WrittenFamily{.name = "gemma4-per-layer-uneven", .allowed = 5e-5, .has_file = false},
    WrittenFamily{.name = "gemma4-uneven", .allowed = 5e-5, .has_file = false},
    WrittenFamily{.name = "gemma4-unified", .has_file = false},
    WrittenFamily{.name = "gemma4-vl", .allowed = 5e-5, .has_file = false},
    WrittenFamily{.name = "glm"},
    WrittenFamily{.name = "glm-uneven", .refused = "RoPE", .is_written = false, .has_file = false},
    WrittenFamily{.name = "glm4"},
    WrittenFamily{.name = "glm4-moe"},
    WrittenFamily{.name = "glm4-moe-lite", .allowed = 1e-06},
    WrittenFamily{.name = "glm4-moe-lite-uneven", .refused = "layers with experts", .is_written = false, .has_file = false},
    WrittenFamily{.name = "glm4-moe-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "glm4-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "gpt-neox"},
    WrittenFamily{.name = "gpt-neox-uneven", .refused = "RoPE", .is_written = false, .has_file = false},
    WrittenFamily{.name = "gpt-oss"},
    WrittenFamily{.name = "gpt-oss-uneven",
                  .refused = "RoPE",
                  .unsaid = R"({"rope_parameters": {"attention_factor": null}})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "gpt2"},
    WrittenFamily{.name = "gpt2-scaled", .refused = "scales of layers", .is_written = false, .has_file = false},
    WrittenFamily{.name = "gpt2-scaled-uneven",
                  .refused = "scales of layers",
                  .unsaid = R"({"scale_attn_by_inverse_layer_idx": null, "scale_attn_weights": null})",
                  .has_file = false},
    WrittenFamily{
        .name = "gpt2-uneven", .refused = "hidden_act", .unsaid = R"({"activation_function": null})", .has_file = false},
    WrittenFamily{.name = "gptj", .refused = "GPTJForCausalLM cannot be written", .is_written = false, .has_file = false},
    WrittenFamily{
        .name = "gptj-uneven", .refused = "GPTJForCausalLM cannot be written", .is_written = false, .has_file = false},
    WrittenFamily{.name = "granite"},
    WrittenFamily{.name = "granite-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "granite4", .refused = "GraniteMoeHybridForCausalLM cannot be written", .is_written = false},
    WrittenFamily{.name = "granite4-uneven",
                  .refused = "GraniteMoeHybridForCausalLM cannot be written",
                  .is_written = false,
                  .has_file = false},
    WrittenFamily{.name = "hunyuan"},
    WrittenFamily{.name = "hunyuan-moe"},
    WrittenFamily{.name = "hunyuan-moe-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "hunyuan-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "internlm2", .left_out = R"({"bias": false})"},
    WrittenFamily{.name = "internlm2-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "kimi-k2-5", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "lfm2", .allowed = 1e-5},
    WrittenFamily{.name = "lfm2-moe", .allowed = 1e-5},
    WrittenFamily{.name = "lfm2-moe-uneven",
                  .refused = "experts",
                  .unsaid = R"({"norm_topk_prob": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "lfm2-uneven",
                  .refused = "recurrent layers",
                  .unsaid = R"({"conv_bias": false})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "llama", .allowed = 1e-4},
    WrittenFamily{.name = "llama-dynamic", .refused = "dynamic", .is_written = false, .has_file = false},
    WrittenFamily{.name = "llama-dynamic-uneven", .refused = "dynamic", .is_written = false, .has_file = false},
    WrittenFamily{.name = "llama-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "llama-yarn"},
    WrittenFamily{.name = "llama-yarn-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "llama4",
                  .refused = "sliding windows",
                  .unsaid = R"({"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1})"},
    WrittenFamily{.name = "llama4-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1, "use_qk_norm": true,
                                "no_rope_layer_interval": 4})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "minimax-m2"},
    WrittenFamily{.name = "minimax-m2-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{
        .name = "ministral", .refused = "sliding windows", .unsaid = R"({"sliding_window": null})", .has_file = false},
    WrittenFamily{.name = "ministral-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"sliding_window": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "ministral3", .allowed = 1e-5},
    WrittenFamily{.name = "ministral3-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"sliding_window": null, "rope_parameters": {"mscale": 0.9}})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "mistral", .refused = "sliding windows", .unsaid = R"({"sliding_window": null})"},
    WrittenFamily{.name = "mistral-small-4", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "mistral-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"sliding_window": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{
        .name = "mistral4", .allowed = 1e-05, .left_out = R"({"rope_parameters": {"llama_4_scaling_beta": null}})"},
    WrittenFamily{.name = "mistral4-uneven",
                  .refused = "RoPE",
                  .unsaid = R"({"rope_parameters": {"mscale": 0.9}})",
                  .allowed = 1e-05,
                  .has_file = false},
    WrittenFamily{.name = "mixtral"},
    WrittenFamily{.name = "mixtral-fused", .has_file = false},
    WrittenFamily{.name = "mixtral-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"sliding_window": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "mpt"},
    WrittenFamily{.name = "mpt-uneven",
                  .refused = "scale of attention",
                  .unsaid = R"({"attn_config": {"softmax_scale": null}})",
                  .has_file = false},
    WrittenFamily{.name = "muse-glimmer", .allowed = 1e-05},
    WrittenFamily{.name = "muse-glimmer-uneven",
                  .refused = "norms",
                  .unsaid = R"({"text_config": {"post_norm_eps": null}})",
                  .allowed = 1e-05,
                  .has_file = false},
    WrittenFamily{.name = "nemotron"},
    WrittenFamily{.name = "nemotron-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "olmo"},
    WrittenFamily{.name = "olmo-uneven", .allowed = 1e-05, .has_file = false},
    WrittenFamily{.name = "olmo2"},
    WrittenFamily{.name = "olmo2-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "olmo3", .allowed = 1e-06},
    WrittenFamily{
        .name = "olmo3-uneven",
        .refused = "RoPE",
        .unsaid =
            R"({"rope_parameters": {"full_attention": {"attention_factor": null}, "sliding_attention": {"rope_theta": 777.7}}})",
        .allowed = 1e-05,
        .has_file = false},
    WrittenFamily{.name = "olmoe"},
    WrittenFamily{.name = "olmoe-uneven",
                  .refused = "experts",
                  .unsaid = R"({"norm_topk_prob": null})",
                  .allowed = 1e-05,
                  .has_file = false},
    WrittenFamily{.name = "opt", .refused = "OPTForCausalLM cannot be written", .is_written = false, .has_file = false},
    WrittenFamily{.name = "opt-350m", .refused = "OPTForCausalLM cannot be written", .is_written = false, .has_file = false},
    WrittenFamily{
        .name = "opt-uneven", .refused = "OPTForCausalLM cannot be written", .is_written = false, .has_file = false},
    WrittenFamily{.name = "phi"},
    WrittenFamily{.name = "phi-uneven", .refused = "has no name in GGUF files", .is_written = false, .has_file = false},
    WrittenFamily{.name = "phi3"},
    WrittenFamily{.name = "phi3-longrope", .allowed = 1e-5},
    WrittenFamily{.name = "phi3-longrope-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "phi3-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "phimoe", .refused = "experts", .unsaid = R"({"router_jitter_noise": null})"},
    WrittenFamily{
        .name = "phimoe-fused", .refused = "experts", .unsaid = R"({"router_jitter_noise": null})", .has_file = false},
    WrittenFamily{.name = "phimoe-uneven",
                  .refused = "experts",
                  .unsaid = R"({"router_jitter_noise": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{
        .name = "qwen2",
        .refused = "sliding windows",
        .unsaid = R"({"use_sliding_window": null, "sliding_window": null, "layer_types": null, "max_window_layers": null})"},
    WrittenFamily{.name = "qwen2-5-vl", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "qwen2-moe", .has_file = false},  // the converter knows no layers without experts
    WrittenFamily{.name = "qwen2-moe-fused", .has_file = false},
    WrittenFamily{.name = "qwen2-moe-sparse"},
    WrittenFamily{.name = "qwen2-moe-uneven",
                  .refused = "experts",
                  .unsaid = R"({"norm_topk_prob": null, "use_sliding_window": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "qwen2-uneven",
                  .refused = "sliding windows",
                  .unsaid = R"({"use_sliding_window": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "qwen3"},
    WrittenFamily{.name = "qwen3-5", .allowed = 5e-5},
    WrittenFamily{.name = "qwen3-5-moe", .allowed = 1e-5},
    WrittenFamily{.name = "qwen3-5-moe-uneven", .allowed = 5e-5, .has_file = false},
    WrittenFamily{.name = "qwen3-5-uneven", .refused = "biases", .unsaid = R"({"attention_bias": false})", .allowed = 5e-5},
    WrittenFamily{.name = "qwen3-5-vl", .allowed = 5e-5, .has_file = false},
    WrittenFamily{.name = "qwen3-moe"},
    WrittenFamily{.name = "qwen3-moe-uneven",
                  .refused = "experts",
                  .unsaid = R"({"norm_topk_prob": true, "use_sliding_window": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "qwen3-next", .allowed = 1e-5},
    WrittenFamily{.name = "qwen3-next-uneven", .refused = "layers with experts", .is_written = false, .has_file = false},
    WrittenFamily{.name = "qwen3-uneven",
                  .refused = "dynamic",
                  .unsaid = R"({"rope_parameters": {"rope_type": "default", "factor": null}})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "qwen3-vl", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "qwen3-vl-moe", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "seed-oss"},
    WrittenFamily{.name = "seed-oss-uneven", .refused = "biases", .is_written = false, .has_file = false},
    WrittenFamily{.name = "smollm3", .refused = "RoPE", .unsaid = R"({"no_rope_layers": null})"},
    WrittenFamily{.name = "smollm3-uneven",
                  .refused = "RoPE",
                  .unsaid = R"({"use_sliding_window": null, "no_rope_layer_interval": null})",
                  .allowed = 1e-5,
                  .has_file = false},
    WrittenFamily{.name = "stablelm"},
    WrittenFamily{.name = "stablelm-12b", .has_file = false},
    WrittenFamily{.name = "stablelm-uneven", .allowed = 1e-5, .has_file = false},
    WrittenFamily{.name = "starcoder2", .refused = "sliding windows", .unsaid = R"({"sliding_window": null})"},
    WrittenFamily{.name = "starcoder2-uneven",
                  .refused = "hidden_act",
                  .unsaid = R"({"sliding_window": null, "hidden_act": null})",
                  .allowed = 1e-5,
                  .has_file = false},
};

}  // namespace

std::span<const WrittenFamily> written_families() { return kFamilies; }

const WrittenFamily* find_written_family(std::string_view name) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& row) { return row.name == name; });
  return found == kFamilies.end() ? nullptr : &*found;
}

std::string family_path(std::string_view name) { return source_path("tests/fixtures/families/" + std::string(name)); }
std::string gguf_path(std::string_view name) { return source_path("tests/fixtures/gguf/" + std::string(name) + ".gguf"); }

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(family_path(""))) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool needs_recurrent_operations(std::string_view name) {
  const auto config = engine::read_model_config(read_json_file(family_path(name) + "/config.json"));
  return config.has_value() && engine::needs_recurrent_operations(*config);
}

void copy_family(std::string_view name, std::string_view unsaid, const std::string& folder) {
  const std::string family = family_path(name);
  engine::Json config = read_json_file(family + "/config.json");
  config.merge_patch(engine::Json::parse(unsaid));
  write_file(folder + "/config.json", config.dump());
  write_file(folder + "/model.safetensors", read_file(family + "/model.safetensors"));
}

engine::Result<engine::ConvertReport> convert_as_it_is(const std::string& model, const std::string& output) {
  engine::EngineOptions options;
  options.model = model;
  return engine::convert_checkpoint(options, {.output = output}, {});
}

}  // namespace lathe::tests
