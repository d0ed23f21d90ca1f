// SPDX-License-Identifier: Apache-2.0
// Plans the scores of pairs of texts: the logit of a cross-encoder, or the cosine of two vectors.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/server/embed/text_input.h"
#include "engine/api/pooling.h"

namespace lathe::app {

/// Two lists of texts under the names that the user has for them; a single first text goes with each second one.
struct TextPairs {
  std::vector<std::string> first, second;
  std::string first_name, second_name;

  const std::string& first_of(std::size_t pair) const { return first[first.size() == 1 ? 0 : pair]; }
};

/// The texts that the engine computes for pairs, and the score of a pair out of their vectors.
struct PairPlan {
  std::vector<VectorText> texts;
  engine::PoolingParams pooling;
  std::function<double(std::span<const std::vector<float>> vectors, std::size_t pair)> score;
};

/// Plans for a cross-encoder, which reads both texts of a pair as one, and whose logit is the score. `use_activation`: after
/// the model's activation. Errors: those of TextInput::encode_pair(); invalid_argument at "model" for several labels.
engine::Result<PairPlan> plan_cross_encoder(const TextInput& input, const TextPairs& pairs, engine::LabelInfo labels,
                                            bool use_activation);

/// Plans for a model that gives vectors: the score is the cosine of two, and each text is computed once. `first`, `second`:
/// encode the texts of either list. Errors: those of TextInput::encode().
engine::Result<PairPlan> plan_vectors(const TextInput& first, const TextInput& second, const TextPairs& pairs);

}  // namespace lathe::app
