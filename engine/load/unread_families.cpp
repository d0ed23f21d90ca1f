// SPDX-License-Identifier: Apache-2.0
#include "engine/load/unread_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

constexpr std::string_view kDeltaNet = "recurrent layers (gated delta net)";
constexpr std::string_view kKda = "recurrent layers (Kimi delta attention)";
constexpr std::string_view kMamba1 = "recurrent layers (Mamba)", kMamba2 = "recurrent layers (Mamba 2)";
constexpr std::string_view kShortConvolution = "short convolutions in place of attention";
constexpr std::string_view kIndexer = "an indexer that chooses the tokens of sparse attention";
constexpr std::string_view kOutputGate = "a gate on the output of attention";
constexpr std::string_view kSquaredRelu = "an MLP with squared ReLU";
constexpr std::string_view kLightning = "recurrent layers (lightning attention)";

// THE TABLE of families that are not read. A family that is read leaves it.
// Source: Hugging Face transformers, modeling_<family>.py; llama.cpp, src/llama-arch.cpp.
constexpr std::array kFamilies = {
    UnreadFamily{"afmoe", "afmoe", kOutputGate},
    UnreadFamily{"apertus", "apertus", "the activation xIELU"},
    UnreadFamily{"arcee", "arcee", kSquaredRelu},
    UnreadFamily{"bailing_hybrid", "bailingmoe3", kKda},
    UnreadFamily{"bamba", "", kMamba2},
    UnreadFamily{"bitnet", "bitnet", "norms inside of attention and MLP"},
    UnreadFamily{"deepseek_v32", "deepseek32", kIndexer},
    UnreadFamily{"deepseek_v4", "deepseek4", "hyper-connections and compressed attention"},
    UnreadFamily{"falcon_h1", "falcon-h1", kMamba2},
    UnreadFamily{"falcon_mamba", "", kMamba1},
    UnreadFamily{"glm_moe_dsa", "glm-dsa", kIndexer},
    UnreadFamily{"granitemoehybrid", "granitehybrid", kMamba2},
    UnreadFamily{"hunyuan_v1_dense", "hunyuan-dense", "norms of Q and K behind RoPE"},
    UnreadFamily{"hunyuan_v1_moe", "hunyuan-moe", "norms of Q and K behind RoPE"},
    UnreadFamily{"inkling", "", "a bias of relative positions in place of RoPE"},
    UnreadFamily{"inkling_mm_model", "", "a bias of relative positions in place of RoPE"},
    UnreadFamily{"jamba", "jamba", kMamba1},
    UnreadFamily{"kimi_linear", "kimi-linear", kKda},
    UnreadFamily{"laguna", "laguna", kOutputGate},
    UnreadFamily{"lfm3", "", kShortConvolution},
    UnreadFamily{"llama4", "llama4", "attention in chunks"},
    UnreadFamily{"mamba", "mamba", kMamba1},
    UnreadFamily{"mamba2", "mamba2", kMamba2},
    UnreadFamily{"mimo_v2_flash", "mimo2", "other head sizes for K than for V"},
    UnreadFamily{"minimax", "minimax-01", kLightning},
    UnreadFamily{"minimax_m3_vl", "minimax-m3", kIndexer},
    UnreadFamily{"mllama", "", "attention to images in the layers of the text"},
    UnreadFamily{"muse_glimmer", "muse-glimmer", kOutputGate},
    UnreadFamily{"nemotron", "nemotron", kSquaredRelu},
    UnreadFamily{"nemotron_h", "nemotron_h", kMamba2},
    UnreadFamily{"nemotron_h", "nemotron_h_moe", kMamba2},
    UnreadFamily{"olmo_hybrid", "", kDeltaNet},
    UnreadFamily{"paligemma", "", "attention to the whole prompt in both directions"},
    UnreadFamily{"recurrent_gemma", "", "recurrent layers (RG-LRU)"},
    UnreadFamily{"rwkv", "rwkv7", "recurrent layers (RWKV)"},
    UnreadFamily{"step3p5", "step35", kOutputGate},
    UnreadFamily{"t5", "t5", "an encoder beside the decoder"},
    UnreadFamily{"zamba2", "", kMamba2},
};

template <class Is>
const UnreadFamily* find(const Is& is) {
  const auto* const found = std::find_if(kFamilies.begin(), kFamilies.end(), is);
  return found != kFamilies.end() ? found : nullptr;
}

/// Small letters and digits alone: "qwen35" of "Qwen3_5" and of "qwen3_5".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '_') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

}  // namespace

const UnreadFamily* find_unread_family(std::string_view model_type) {
  constexpr std::string_view kText = "_text";
  if (model_type.ends_with(kText)) model_type.remove_suffix(kText.size());
  return find([&](const UnreadFamily& family) { return family.model_type == model_type; });
}

const UnreadFamily* find_unread_class(std::string_view name) {
  for (const std::string_view ending : {"ForCausalLM", "ForConditionalGeneration", "Model"}) {
    if (!name.ends_with(ending)) continue;
    const std::string letters = letters_of(name.substr(0, name.size() - ending.size()));
    return find([&](const UnreadFamily& family) { return letters_of(family.model_type) == letters; });
  }
  return nullptr;
}

const UnreadFamily* find_unread_gguf(std::string_view architecture) {
  return find([&](const UnreadFamily& family) { return !family.gguf.empty() && family.gguf == architecture; });
}

std::string refusal_of(const UnreadFamily& family, std::string_view name) {
  return fmt::format("{:.64} is not read: it needs {}", name, family.missing);
}

}  // namespace lathe::engine
