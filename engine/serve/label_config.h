// SPDX-License-Identifier: Apache-2.0
// Reads the labels of a model with a classifier, and the activation of its logits.
// Source: Hugging Face transformers: id2label, problem_type; sentence-transformers: activation_fn of a cross-encoder.
#pragma once

#include "engine/api/named_templates.h"
#include "engine/api/pooling.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

/// `n_labels`: outputs of the classifier; a label without a name is LABEL_N. One label has the activation that
/// sentence-transformers names, else a sigmoid; several have a softmax, unless problem_type says otherwise.
/// Qwen3-Reranker (is_original_qwen3_reranker) has its own prompt for pairs, and a GGUF file that of
/// its template "rerank" in `templates`. Errors: model_refused: an unreadable
/// config.json, or another activation.
Result<LabelInfo> read_label_config(const ModelFolder& folder, const NamedTemplates& templates, std::int64_t n_labels);

}  // namespace lathe::engine
