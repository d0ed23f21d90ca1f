// SPDX-License-Identifier: Apache-2.0
// Pooling: how a text's hidden states become one vector, and what a request may ask of that vector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// Source: Reimers and Gurevych 2019, section 3.
enum class Pooling : std::uint8_t {
  mean,
  cls,  ///< hidden state of the first token
  last  ///< hidden state of the last token
};
std::string_view name_of(Pooling pooling);  ///< "mean", "cls", "last"

/// Vectors that a model gives.
struct VectorInfo {
  std::int64_t n_dimensions = 0;
  Pooling pooling = Pooling::last;
  bool normalises = true;  ///< vectors have length 1
  /// The leading dimensions of a vector are a vector too (Kusupati et al. 2022), as config.json declares.
  bool is_matryoshka = false;
  std::vector<std::int64_t> matryoshka_dimensions{};  ///< the only lengths of such a vector; empty: any
};

/// Function that makes a score or a probability of a logit.
enum class LabelActivation : std::uint8_t { none, sigmoid, softmax };

/// The prompt in which a decoder judges how well a document answers a query: four texts, which may hold control tokens,
/// around an instruction, the query and the document, which may not.
struct PairPrompt {
  std::string begin, before_query, before_document, end;
  std::string instruction;  ///< of a pair that brings none
};

/// Labels of a model with a classifier: a cross-encoder has one, whose logit is the score of a pair of texts.
struct LabelInfo {
  std::vector<std::string> labels;
  LabelActivation activation = LabelActivation::softmax;
  bool doubles_separator = false;      ///< two separators between the texts of a pair: RoBERTa
  std::optional<PairPrompt> prompt{};  ///< set: a pair is read in this prompt
};

/// Applies the activation to the logits of all labels.
void apply_activation(LabelActivation activation, std::vector<float>& logits);

/// The vector that a request asks for.
struct PoolingParams {
  bool classifies = false;                        ///< the answer is the logit of each label
  std::int32_t second_begin = 0;                  ///< index of the first token of a pair's second text; 0: there is one text
  std::int64_t dimensions = 0;                    ///< leading dimensions that are kept; 0: all
  std::optional<bool> normalises = std::nullopt;  ///< none: as the model does
};

/// Checks a request against the model's vectors. Errors: invalid_argument at "dimensions", with the numbers.
Result<void> validate(const PoolingParams& params, const VectorInfo& info);

/// Cuts a pooled state to the requested dimensions, then divides it by its length if asked to.
void finish_vector(const PoolingParams& params, const VectorInfo& info, std::vector<float>& vector);

}  // namespace lathe::engine
