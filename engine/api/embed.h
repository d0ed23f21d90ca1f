// SPDX-License-Identifier: Apache-2.0
// Embedder: a model that turns a text into one vector.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/api/checkpoint.h"
#include "engine/api/options.h"
#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Which of a text's hidden states make its vector. Source: Reimers and Gurevych 2019, section 3.
enum class Pooling : std::uint8_t {
  mean,
  cls,  ///< the first token's
  last  ///< the last token's
};
std::string_view name_of(Pooling pooling);  ///< "mean", "cls", "last"

struct EmbedderInfo {
  ModelInfo model;
  std::int64_t n_dimensions = 0;
  std::int64_t max_tokens = 0;  ///< of a text
  Pooling pooling = Pooling::mean;
  bool normalises = false;  ///< vectors have length 1
};

/// Gets the bytes of weights that have been read; false cancels.
using EmbedObserver = std::function<bool(std::int64_t bytes_done)>;

/// Thread: one at a time.
class Embedder {
 public:
  virtual ~Embedder() = default;
  virtual const EmbedderInfo& info() const = 0;
  /// Errors: model_refused: the checkpoint has none, or a faulty one; ids can be embedded all the same.
  virtual Result<const Tokenizer*> tokenizer() const = 0;
  /// The vector [n_dimensions] of a text, its control tokens included. Errors: invalid_argument: no token, too many, or one
  /// that the model does not have.
  virtual Result<std::vector<float>> embed(std::span<const std::int32_t> token_ids) = 0;
};

/// Pooling, length and limit are what the folder says in the files of sentence-transformers; without them a model that
/// reads backwards only gives its last state, another the mean, of length 1.
/// Errors: as load_engine; model_refused also for what stands behind pooling and is not there.
Result<std::unique_ptr<Embedder>> open_embedder(const EngineOptions& options, const EmbedObserver& observer = {});

}  // namespace lathe::engine
