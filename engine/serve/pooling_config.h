// SPDX-License-Identifier: Apache-2.0
// PoolingConfig: what a folder, or a GGUF file, says of making one vector out of hidden states.
// Source: sentence-transformers: modules.json, 1_Pooling/config.json, sentence_bert_config.json.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/api/embed.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

struct PoolingConfig {
  Pooling pooling = Pooling::mean;
  bool normalises = true;
  std::int64_t max_tokens = 0;  ///< of a text; 0: as many as the model has positions
};

/// `usual`: where the folder does not say. Errors: model_refused: a kind of pooling, or a module behind it, that is not
/// there.
Result<PoolingConfig> read_pooling_config(const ModelFolder& folder, Pooling usual);

/// Behind the family and a dot, in GGUF files, and the number of a kind there.
inline constexpr std::string_view kGgufPoolingKey = "pooling_type";
std::uint32_t gguf_pooling_number(Pooling pooling);

}  // namespace lathe::engine
