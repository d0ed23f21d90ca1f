// SPDX-License-Identifier: Apache-2.0
// Classifier: the head of a sequence classification model, which maps a text's state to a logit for each label.
// Equation: logits = W_out tanh(W_dense h + b_dense) + b_out; without W_dense: W_out h + b_out.
// Qwen3-Reranker: logit = (W_head[yes] - W_head[no]) h.
// Source: Devlin et al. 2018, section 4 (BERT's pooler and classifier); Hugging Face transformers,
// RobertaClassificationHead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/result.h"
#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Owns: its weights in f32. Thread: any.
class Classifier {
 public:
  /// Reads the head of the files. Errors: model_refused: no head of a known kind, or shapes that do not fit.
  static Result<Classifier> read(const Checkpoint& checkpoint, std::int64_t hidden_size);

  /// Makes a head of the rows `ids` of an output head or embedding [vocab_size, hidden_size]: a logit for each. Errors:
  /// model_refused: a quantized matrix, or another shape. Requires: ids are rows.
  static Result<Classifier> of_rows(const Checkpoint& checkpoint, const StoredTensor& matrix,
                                    std::span<const std::int32_t> ids, std::int64_t hidden_size);

  /// Leaves one logit, that of the first label minus that of the second: its sigmoid is the first one's part of their
  /// softmax. Requires: two labels.
  void judge_by_difference();

  std::int64_t n_labels() const { return out_.n_outputs; }
  std::int64_t n_bytes() const;
  /// Shapes: state [hidden_size]; result [n_labels].
  std::vector<float> logits(std::span<const float> state) const;

 private:
  struct Layer {
    std::int64_t n_outputs = 0, n_inputs = 0;
    std::vector<float> weight;  ///< [n_outputs, n_inputs]
    std::vector<float> bias;    ///< [n_outputs]

    std::vector<float> forward(std::span<const float> x) const;
  };
  static Result<std::vector<float>> read_tensor(const Checkpoint& checkpoint, const StoredTensor& tensor);
  static Result<Layer> read_layer(const Checkpoint& checkpoint, std::string_view name, std::int64_t n_inputs);

  Layer dense_;  ///< without outputs: there is none
  Layer out_;
};

}  // namespace lathe::engine
