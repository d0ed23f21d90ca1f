// SPDX-License-Identifier: Apache-2.0
// Baichuan 1 and 2: Llama with Q, K and V in one tensor; the 13B has ALiBi, and Baichuan 2 a head whose rows have length 1.
// Source: Yang et al. 2023 (Baichuan 2), and the code in the model's own folder.
#include "engine/model/alibi.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

// GGUF files have separate tensors for Q, K and V.
constexpr auto kBaichuanTensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaMlp, std::array{TensorName{WeightRole::qkv, "layers.{}.self_attn.W_pack.weight"}},
           kLlamaAttention);

void read_baichuan_config(ConfigReader& reader, ModelConfig& config) {
  // No key names the 13B's ALiBi, so its width decides; its context length has another key.
  const bool is_13b = reader.integer_or("hidden_size", 0, 0, kMaxWidth) == 5120;
  read_sizes(reader, config, {.n_positions = 4096},
             {.kv_heads = "",
              .positions = reader.has("model_max_length") && is_13b ? "model_max_length" : "max_position_embeddings"});
  read_rms_norm(reader, config, 1e-6);
  if (is_13b) {
    config.alibi_slopes = alibi_slopes(config.n_heads, 8);
  } else {
    read_whole_rope(reader, config);
  }
  config.activation = read_activation(reader, "hidden_act", "silu");
  constexpr std::int64_t kVocabOfBaichuan2 = 125696;
  config.normalises_head = config.vocab_size == kVocabOfBaichuan2;
}

}  // namespace

extern constexpr Architecture kBaichuan{
    .name = "BaichuanForCausalLM",
    .model_type = "baichuan",
    .tensors = kBaichuanTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_baichuan_config,
};

}  // namespace lathe::engine
