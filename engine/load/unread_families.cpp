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
constexpr std::string_view kSharedCache = "layers that share the keys and values of others, and embeddings for each layer";
constexpr std::string_view kEncoder = "an encoder beside the decoder";
constexpr std::string_view kBert = "an output head on the layers of BERT";
constexpr std::string_view kReader = "a reader of its configuration";
constexpr std::string_view kSound = "tokens of sound in addition to those of text";
constexpr std::string_view kHeads = "other numbers of heads in some layers than in others";
constexpr std::string_view kLightning = "recurrent layers (lightning attention)";

// THE TABLE of families that are not read. A family that is read leaves it.
// Source: Hugging Face transformers, modeling_<family>.py; llama.cpp, src/llama-arch.cpp.
constexpr std::array kFamilies = {
    UnreadFamily{"apertus", "apertus", "the activation xIELU"},
    UnreadFamily{"aria", "", kReader},
    UnreadFamily{"axk1", "", kReader},
    UnreadFamily{"axk2", "", kIndexer},
    UnreadFamily{"bailing_hybrid", "bailingmoe3", kKda},
    UnreadFamily{"bamba", "", kMamba2},
    UnreadFamily{"bart", "", kEncoder},
    UnreadFamily{"beam", "", "biases of gates on the output of attention"},
    UnreadFamily{"bert", "", kBert},
    UnreadFamily{"big_bird", "", kBert},
    UnreadFamily{"bigbird_pegasus", "", kEncoder},
    UnreadFamily{"biogpt", "", kReader},
    UnreadFamily{"bitnet", "bitnet", "norms inside of attention and MLP"},
    UnreadFamily{"blenderbot-small", "", kEncoder},
    UnreadFamily{"blenderbot", "", kEncoder},
    UnreadFamily{"blip", "", kEncoder},
    UnreadFamily{"blt", "", "bytes in patches in place of tokens"},
    UnreadFamily{"camembert", "", kBert},
    UnreadFamily{"canary_decoder", "", kEncoder},
    UnreadFamily{"canary", "", kEncoder},
    UnreadFamily{"chameleon", "", kReader},
    UnreadFamily{"clvp_decoder", "", kSound},
    UnreadFamily{"clvp", "", kEncoder},
    UnreadFamily{"codegen", "", kReader},
    UnreadFamily{"cohere2_moe", "cohere2moe", kReader},
    UnreadFamily{"cohere_asr", "", kEncoder},
    UnreadFamily{"cohere_compass", "", kReader},
    UnreadFamily{"cosmos3_edge", "", kReader},
    UnreadFamily{"cpmant", "", "a bias of relative positions in place of RoPE"},
    UnreadFamily{"csm_depth_decoder_model", "", kSound},
    UnreadFamily{"csm", "", kSound},
    UnreadFamily{"cwm", "", kReader},
    UnreadFamily{"data2vec-text", "", kBert},
    UnreadFamily{"dbrx", "dbrx", kReader},
    UnreadFamily{"deepseek_ocr2", "", kReader},
    UnreadFamily{"deepseek_v32", "deepseek32", kIndexer},
    UnreadFamily{"deepseek_v4", "deepseek4", "hyper-connections and compressed attention"},
    UnreadFamily{"dia_decoder", "", kEncoder},
    UnreadFamily{"dia", "", kEncoder},
    UnreadFamily{"diffllama", "", "differences of two attentions"},
    UnreadFamily{"doge", "", "attention with a mask that the model learns"},
    UnreadFamily{"dots3_note", "", kIndexer},
    UnreadFamily{"electra", "", kBert},
    UnreadFamily{"emu3_text_model", "", kReader},
    UnreadFamily{"emu3", "", kReader},
    UnreadFamily{"ernie4_5_vl_moe", "", kReader},
    UnreadFamily{"ernie", "", kBert},
    UnreadFamily{"falcon_h1", "falcon-h1", kMamba2},
    UnreadFamily{"falcon_mamba", "", kMamba1},
    UnreadFamily{"flex_olmo", "", kReader},
    UnreadFamily{"flint", "", kReader},
    UnreadFamily{"florence2", "", kEncoder},
    UnreadFamily{"fsmt", "", kEncoder},
    UnreadFamily{"gemma4_assistant", "", kSharedCache},
    UnreadFamily{"gemma4_unified_assistant", "", kSharedCache},
    UnreadFamily{"git", "", kBert},
    UnreadFamily{"glm5_next", "", kDeltaNet},
    UnreadFamily{"glm_image", "", kReader},
    UnreadFamily{"glm_moe_dsa", "glm-dsa", kIndexer},
    UnreadFamily{"glm_ocr", "", kReader},
    UnreadFamily{"gpt_bigcode", "starcoder", kReader},
    UnreadFamily{"gpt_neox_japanese", "", kReader},
    UnreadFamily{"gpt_neo", "", kReader},
    UnreadFamily{"gradium_phonon_tts", "", kSound},
    UnreadFamily{"granite4_vision", "", kReader},
    UnreadFamily{"granite_docling", "", kReader},
    UnreadFamily{"granite_swa", "", kReader},
    UnreadFamily{"granitemoe_swa", "", kReader},
    UnreadFamily{"granitemoehybrid", "granitehybrid", kMamba2},
    UnreadFamily{"granitemoeshared", "", kReader},
    UnreadFamily{"granitemoe", "granitemoe", kReader},
    UnreadFamily{"helium", "", kReader},
    UnreadFamily{"higgs_audio_v2", "", kSound},
    UnreadFamily{"hrm_text", "", "layers that are run several times"},
    UnreadFamily{"hunyuan_vl", "hunyuan_vl", kReader},
    UnreadFamily{"hy_v3", "", kReader},
    UnreadFamily{"hy_v4", "", kIndexer},
    UnreadFamily{"hyperclovax_vision_v2", "", kReader},
    UnreadFamily{"hyperclovax", "", kReader},
    UnreadFamily{"inkling2", "", "a bias of relative positions in place of RoPE"},
    UnreadFamily{"inkling_mm_model", "", "a bias of relative positions in place of RoPE"},
    UnreadFamily{"inkling", "", "a bias of relative positions in place of RoPE"},
    UnreadFamily{"jais2", "jais2", kReader},
    UnreadFamily{"jamba", "jamba", kMamba1},
    UnreadFamily{"jetmoe", "", kReader},
    UnreadFamily{"kimi_linear", "kimi-linear", kKda},
    UnreadFamily{"kolibri1", "", kReader},
    UnreadFamily{"kosmos-2.5", "", "sinusoidal positions"},
    UnreadFamily{"kosmos-2", "", "sinusoidal positions"},
    UnreadFamily{"kosmos_2_5_text_model", "", "sinusoidal positions"},
    UnreadFamily{"kosmos_2_text_model", "", "sinusoidal positions"},
    UnreadFamily{"kyutai_speech_to_text", "", kSound},
    UnreadFamily{"laguna", "laguna", kHeads},
    UnreadFamily{"led", "", kEncoder},
    UnreadFamily{"lfm3", "", kShortConvolution},
    UnreadFamily{"longcat_flash", "", kReader},
    UnreadFamily{"longt5", "", kEncoder},
    UnreadFamily{"m2m_100", "", kEncoder},
    UnreadFamily{"mamba2", "mamba2", kMamba2},
    UnreadFamily{"mamba", "mamba", kMamba1},
    UnreadFamily{"marian", "", kEncoder},
    UnreadFamily{"mbart", "", kEncoder},
    UnreadFamily{"megatron-bert", "", kBert},
    UnreadFamily{"mellum", "mellum", kReader},
    UnreadFamily{"mimo_v2_flash", "mimo2", kHeads},
    UnreadFamily{"minicpm3", "minicpm3", kReader},
    UnreadFamily{"minimax_m3_vl", "minimax-m3", kIndexer},
    UnreadFamily{"minimax", "minimax-01", kLightning},
    UnreadFamily{"mistral_large4", "", kIndexer},
    UnreadFamily{"mllama", "", "attention to images in the layers of the text"},
    UnreadFamily{"modernbert-decoder", "", kReader},
    UnreadFamily{"molmo2", "", kReader},
    UnreadFamily{"moonshine_streaming", "", kEncoder},
    UnreadFamily{"moonshine", "", kEncoder},
    UnreadFamily{"moshi", "", kSound},
    UnreadFamily{"mt5", "", kEncoder},
    UnreadFamily{"muse_spark", "", "gates on the residual stream"},
    UnreadFamily{"musicgen_decoder", "", kEncoder},
    UnreadFamily{"musicgen_melody_decoder", "", kEncoder},
    UnreadFamily{"musicgen_melody", "", kEncoder},
    UnreadFamily{"musicgen", "", kEncoder},
    UnreadFamily{"mvp", "", kEncoder},
    UnreadFamily{"nanochat", "", kReader},
    UnreadFamily{"nemo_speechlm", "", kMamba2},
    UnreadFamily{"nemotron_h", "nemotron_h", kMamba2},
    UnreadFamily{"nemotron_h", "nemotron_h_moe", kMamba2},
    UnreadFamily{"nllb-moe", "", kEncoder},
    UnreadFamily{"olmo_hybrid", "", kDeltaNet},
    UnreadFamily{"paddleocr_vl", "", kReader},
    UnreadFamily{"paligemma", "", "attention to the whole prompt in both directions"},
    UnreadFamily{"pegasus_x", "", kEncoder},
    UnreadFamily{"pegasus", "", kEncoder},
    UnreadFamily{"persimmon", "", kReader},
    UnreadFamily{"phi4_multimodal", "", kReader},
    UnreadFamily{"pi0", "", "an output in place of tokens"},
    UnreadFamily{"pix2struct_text_model", "", kEncoder},
    UnreadFamily{"pix2struct", "", kEncoder},
    UnreadFamily{"plbart", "", kEncoder},
    UnreadFamily{"pocket_tts", "", kSound},
    UnreadFamily{"pop2piano", "", kEncoder},
    UnreadFamily{"pp_formulanet", "", kEncoder},
    UnreadFamily{"prophetnet", "", kEncoder},
    UnreadFamily{"qwen2_5_omni_talker", "", kSound},
    UnreadFamily{"qwen3_omni_moe_talker_code_predictor", "", kSound},
    UnreadFamily{"qwen4_exp", "", kIndexer},
    UnreadFamily{"recurrent_gemma", "", "recurrent layers (RG-LRU)"},
    UnreadFamily{"rembert", "", kBert},
    UnreadFamily{"roberta-prelayernorm", "", kBert},
    UnreadFamily{"roberta", "", kBert},
    UnreadFamily{"roc_bert", "", kBert},
    UnreadFamily{"roformer", "", kBert},
    UnreadFamily{"rwkv", "rwkv7", "recurrent layers (RWKV)"},
    UnreadFamily{"seamless_m4t_v2", "", kEncoder},
    UnreadFamily{"seamless_m4t", "", kEncoder},
    UnreadFamily{"solar_open", "", kReader},
    UnreadFamily{"speech_to_text", "", kEncoder},
    UnreadFamily{"step3p5", "step35", kHeads},
    UnreadFamily{"step3p7", "", kHeads},
    UnreadFamily{"switch_transformers", "", kEncoder},
    UnreadFamily{"t5_gemma_module", "", kEncoder},
    UnreadFamily{"t5gemma2_decoder", "", kEncoder},
    UnreadFamily{"t5gemma2", "", kEncoder},
    UnreadFamily{"t5gemma", "", kEncoder},
    UnreadFamily{"t5", "t5", "an encoder beside the decoder"},
    UnreadFamily{"trocr", "", kEncoder},
    UnreadFamily{"udop", "", kEncoder},
    UnreadFamily{"umt5", "", kEncoder},
    UnreadFamily{"unlimited_ocr", "", kReader},
    UnreadFamily{"vaultgemma", "", kReader},
    UnreadFamily{"vibevoice", "", kSound},
    UnreadFamily{"voxtral_realtime", "", "norms that follow the sound"},
    UnreadFamily{"whisper", "", kEncoder},
    UnreadFamily{"xglm", "", "sinusoidal positions"},
    UnreadFamily{"xlm-roberta-xl", "", kBert},
    UnreadFamily{"xlm-roberta", "", kBert},
    UnreadFamily{"xlstm", "", "recurrent layers (xLSTM)"},
    UnreadFamily{"xmod", "", kBert},
    UnreadFamily{"youtu", "", kReader},
    UnreadFamily{"zamba2", "", kMamba2},
    UnreadFamily{"zamba", "", kMamba1},
    UnreadFamily{"zaya", "", "convolutions of Q and K"},
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
    if (c == '_' || c == '-' || c == '.') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

}  // namespace

const UnreadFamily* find_unread_family(std::string_view model_type) {
  constexpr std::string_view kText = "_text";
  const auto is_named = [&](const UnreadFamily& family) { return family.model_type == model_type; };
  if (const UnreadFamily* const family = find(is_named)) return family;
  if (model_type.ends_with(kText)) model_type.remove_suffix(kText.size());
  return find(is_named);
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
