// SPDX-License-Identifier: Apache-2.0
// PoolingConfig: how a model makes one vector from hidden states, as set in its folder or GGUF file.
// Source: sentence-transformers: modules.json, 1_Pooling/config.json, sentence_bert_config.json; vLLM: is_matryoshka and
// matryoshka_dimensions of config.json.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/api/pooling.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

struct PoolingConfig {
  Pooling pooling = Pooling::mean;
  bool normalises = true;
  std::int64_t max_tokens = 0;  ///< longest text; 0: as many tokens as the model has positions
  bool is_matryoshka = false;   ///< is_matryoshka of config.json
  std::vector<std::int64_t> matryoshka_dimensions{};
};

/// Reads the pooling; `usual` if the folder does not set it. Errors: model_refused: a kind of pooling, or a module after it,
/// that is not supported.
Result<PoolingConfig> read_pooling_config(const ModelFolder& folder, Pooling usual);

/// Key in GGUF files after "<family>.", and the value for a kind of pooling.
inline constexpr std::string_view kGgufPoolingKey = "pooling_type";
std::uint32_t gguf_pooling_number(Pooling pooling);

}  // namespace lathe::engine
