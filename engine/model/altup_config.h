// SPDX-License-Identifier: Apache-2.0
// AltUpConfig: several residual streams, of which each layer computes one and predicts the others. Source: Baykal et al.
// 2023 (Alternating Updates for Efficient Transformers); Hugging Face transformers, Gemma3nTextConfig.
#pragma once

#include <cstdint>

namespace lathe::engine {

/// Streams of all models that have several.
inline constexpr std::int64_t kAltUpStreams = 4;

struct AltUpConfig {
  std::int64_t n_streams = 0;     ///< kAltUpStreams; 0: one residual stream, without AltUp
  std::int64_t active = 0;        ///< the stream that the layers compute
  bool scales_corrected = false;  ///< the active stream is scaled before it gates the per-layer embeddings
  std::int64_t laurel_rank = 0;   ///< width of the learned residual of a layer (LAuReL)

  bool operator==(const AltUpConfig&) const = default;
  bool exists() const { return n_streams > 0; }
};

}  // namespace lathe::engine
