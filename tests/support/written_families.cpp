// SPDX-License-Identifier: Apache-2.0
#include "tests/support/written_families.h"

#include <algorithm>
#include <array>

#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {
namespace {

// Windows of Mistral, Qwen and StarCoder 2 are not written; the scale of Gemma's scores follows from its sizes, the layers
// that slide in Gemma 3 and Cohere 2 and those that turn in SmolLM 3 from their number; nothing says PhiMoE's jitter.
// Llama's and Phi's factors, what Q of Ministral 3 grows by, and the scale of DeepSeek's scores are written in f32.
constexpr std::array kFamilies = {
    WrittenFamily{.name = "baichuan"},
    WrittenFamily{.name = "bloom"},
    WrittenFamily{.name = "cohere"},
    WrittenFamily{.name = "cohere2", .refused = "sliding windows", .unsaid = R"({"layer_types": null})"},
    WrittenFamily{.name = "deepseek-v2", .allowed = 1e-6},
    WrittenFamily{.name = "deepseek-v2-dense"},
    WrittenFamily{.name = "deepseek-v2-groups"},
    WrittenFamily{.name = "deepseek-v3"},
    WrittenFamily{.name = "deepseek-v3-fused", .has_file = false},
    WrittenFamily{.name = "exaone4"},
    WrittenFamily{.name = "falcon-11b"},
    WrittenFamily{.name = "falcon-40b"},
    WrittenFamily{.name = "falcon-7b"},
    WrittenFamily{.name = "falcon-rw", .refused = "ALiBi", .is_written = false, .has_file = false},
    WrittenFamily{.name = "gemma"},
    WrittenFamily{.name = "gemma2", .refused = "scale of attention", .unsaid = R"({"query_pre_attn_scalar": 16})"},
    WrittenFamily{
        .name = "gemma3",
        .refused = "sliding windows",
        .unsaid =
            R"({"query_pre_attn_scalar": 16, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention"]})"},
    WrittenFamily{.name = "glm"},
    WrittenFamily{.name = "glm4"},
    WrittenFamily{.name = "gpt-neox"},
    WrittenFamily{.name = "gpt-oss"},
    WrittenFamily{.name = "gpt2"},
    WrittenFamily{.name = "gpt2-scaled", .refused = "scales of layers", .is_written = false, .has_file = false},
    WrittenFamily{.name = "gptj", .refused = "GPTJForCausalLM is not written", .is_written = false, .has_file = false},
    WrittenFamily{.name = "granite"},
    WrittenFamily{.name = "internlm2", .left_out = R"({"bias": false})"},
    WrittenFamily{.name = "llama", .allowed = 1e-4},
    WrittenFamily{.name = "llama-dynamic", .refused = "dynamic", .is_written = false, .has_file = false},
    WrittenFamily{.name = "llama-yarn"},
    WrittenFamily{.name = "ministral3", .allowed = 1e-5},
    WrittenFamily{.name = "mistral", .refused = "sliding windows", .unsaid = R"({"sliding_window": null})"},
    WrittenFamily{.name = "mixtral"},
    WrittenFamily{.name = "mixtral-fused", .has_file = false},
    WrittenFamily{.name = "mpt"},
    WrittenFamily{.name = "olmo2"},
    WrittenFamily{.name = "opt", .refused = "OPTForCausalLM is not written", .is_written = false, .has_file = false},
    WrittenFamily{.name = "opt-350m", .refused = "OPTForCausalLM is not written", .is_written = false, .has_file = false},
    WrittenFamily{.name = "phi"},
    WrittenFamily{.name = "phi3"},
    WrittenFamily{.name = "phi3-longrope", .allowed = 1e-5},
    WrittenFamily{.name = "phimoe", .refused = "experts", .unsaid = R"({"router_jitter_noise": null})"},
    WrittenFamily{
        .name = "phimoe-fused", .refused = "experts", .unsaid = R"({"router_jitter_noise": null})", .has_file = false},
    WrittenFamily{
        .name = "qwen2",
        .refused = "sliding windows",
        .unsaid = R"({"use_sliding_window": null, "sliding_window": null, "layer_types": null, "max_window_layers": null})"},
    WrittenFamily{.name = "qwen2-moe", .has_file = false},  // the converter knows no layers without experts
    WrittenFamily{.name = "qwen2-moe-fused", .has_file = false},
    WrittenFamily{.name = "qwen2-moe-sparse"},
    WrittenFamily{.name = "qwen3"},
    WrittenFamily{.name = "qwen3-moe"},
    WrittenFamily{.name = "seed-oss"},
    WrittenFamily{.name = "smollm3", .refused = "RoPE", .unsaid = R"({"no_rope_layers": null})"},
    WrittenFamily{.name = "stablelm"},
    WrittenFamily{.name = "stablelm-12b", .has_file = false},
    WrittenFamily{.name = "starcoder2", .refused = "sliding windows", .unsaid = R"({"sliding_window": null})"},
};

}  // namespace

std::span<const WrittenFamily> written_families() { return kFamilies; }

const WrittenFamily* find_written_family(std::string_view name) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& row) { return row.name == name; });
  return found == kFamilies.end() ? nullptr : &*found;
}

std::string family_path(std::string_view name) { return source_path("tests/fixtures/families/" + std::string(name)); }
std::string gguf_path(std::string_view name) { return source_path("tests/fixtures/gguf/" + std::string(name) + ".gguf"); }

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
