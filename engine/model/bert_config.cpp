// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert_config.h"

#include <fmt/format.h>

namespace lathe::engine {

void read_bert_parts(ConfigReader& reader, ModelConfig& config, std::int64_t position_offset) {
  read_sizes(reader, config, {.n_positions = 512}, {.kv_heads = ""});
  read_layer_norm(reader, config, "layer_norm_eps", 1e-12);
  config.is_causal = false;
  config.has_head = false;
  config.tied_embeddings = false;
  config.norm_place = NormPlace::on_stream;
  config.has_final_norm = false;
  config.has_embedding_norm = true;
  config.activation = read_activation(reader, "hidden_act", "gelu");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = true;
  config.n_token_types = reader.integer_or("type_vocab_size", 2, 1, kMaxTokenTypes);
  if (config.max_position_embeddings <= position_offset) {
    reader.fault("max_position_embeddings", fmt::format("got {}, but the first {} rows are not positions",
                                                        config.max_position_embeddings, position_offset));
    return;
  }
  config.position_offset = position_offset;
  config.max_position_embeddings -= position_offset;
  config.n_learned_positions = config.max_position_embeddings;
  const std::string kind = reader.text_or("position_embedding_type", "absolute");
  if (kind != "absolute") reader.unmet(fmt::format("positions of the type '{:.32}' (position_embedding_type)", kind));
  if (reader.boolean_or("is_decoder", false)) reader.unmet("an encoder that is used as a decoder (is_decoder)");
}

}  // namespace lathe::engine
