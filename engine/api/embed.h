// SPDX-License-Identifier: Apache-2.0
// Embedder: a model that maps a text to one vector.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/api/checkpoint.h"
#include "engine/api/options.h"
#include "engine/api/pooling.h"
#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

struct EmbedderInfo {
  ModelInfo model;
  std::int64_t n_dimensions = 0;
  std::int64_t max_tokens = 0;  ///< most tokens of a text
  Pooling pooling = Pooling::mean;
  bool normalises = false;  ///< vectors have length 1
};

/// Called with the bytes of weights that have been read; false cancels.
using EmbedObserver = std::function<bool(std::int64_t bytes_done)>;

/// A loaded embedding model. Thread: one at a time.
class Embedder {
 public:
  virtual ~Embedder() = default;
  virtual const EmbedderInfo& info() const = 0;
  /// Errors: model_refused: the checkpoint has no tokenizer, or an invalid one; token ids can be embedded without one.
  virtual Result<const Tokenizer*> tokenizer() const = 0;
  /// The vector [n_dimensions] of a text; `token_ids` include its control tokens. Errors: invalid_argument: no token, too
  /// many tokens, or an id outside the vocabulary.
  virtual Result<std::vector<float>> embed(std::span<const std::int32_t> token_ids) = 0;
};

/// Opens an embedding model. Pooling, normalisation and token limit come from the folder's sentence-transformers files;
/// without them a causal model uses last-token pooling, others mean pooling, both normalised.
/// Errors: as load_engine; model_refused also for a module after pooling that is not supported.
Result<std::unique_ptr<Embedder>> open_embedder(const EngineOptions& options, const EmbedObserver& observer = {});

}  // namespace lathe::engine
