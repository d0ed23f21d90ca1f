// SPDX-License-Identifier: Apache-2.0
// PerLayerConfig: sizes of per-layer embeddings, by which each token feeds every layer. Source: Gemma Team, Gemma 3n and
// Gemma 4; Hugging Face transformers, Gemma4TextConfig.
#pragma once

#include <cstdint>

namespace lathe::engine {

struct PerLayerConfig {
  std::int64_t size = 0;  ///< hidden_size_per_layer_input, the width of a token's embedding for one layer; 0: there are none
  std::int64_t vocab_size = 0;  ///< rows of the table, which has all layers of a token in one row

  bool operator==(const PerLayerConfig&) const = default;
  bool exists() const { return size > 0; }
};

}  // namespace lathe::engine
