// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/label_config.h"

#include <fmt/format.h>

#include "engine/base/json_text.h"
#include "engine/serve/config_source.h"

namespace lathe::engine {
namespace {

/// Name of the function that sentence-transformers applies: "torch.nn.modules.linear.Identity"; empty: none is named.
std::string activation_name(const Json& config) {
  std::string name = text_in(config, "sbert_ce_default_activation_function");
  const auto own = config.find("sentence_transformers");
  if (own != config.end() && own->is_object() && own->contains("activation_fn")) name = text_in(*own, "activation_fn");
  return name.substr(name.rfind('.') + 1);
}

Result<LabelActivation> read_activation_of_labels(const Json& config, std::int64_t n_labels) {
  const std::string name = activation_name(config);
  if (name == "Identity") return LabelActivation::none;
  if (name == "Sigmoid") return LabelActivation::sigmoid;
  if (!name.empty()) {
    return fail(ErrorCode::model_refused,
                fmt::format("the activation '{:.64}' of the scores is not supported (Identity and Sigmoid are)", name),
                "config.json: activation_fn");
  }
  const std::string problem = text_in(config, "problem_type");
  if (problem == "regression") return LabelActivation::none;
  if (n_labels == 1 || problem == "multi_label_classification") return LabelActivation::sigmoid;
  return LabelActivation::softmax;
}

/// The prompt of Qwen3-Reranker. Source: its model card; vLLM's and llama.cpp's templates for it.
PairPrompt qwen3_reranker_prompt() {
  return {.begin =
              "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
              "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: ",
          .before_query = "\n<Query>: ",
          .before_document = "\n<Document>: ",
          .end = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
          .instruction = "Given a web search query, retrieve relevant passages that answer the query"};
}

/// The prompt that a GGUF file has under the name "rerank", with the places {query} and {document}; nothing for other files.
std::optional<PairPrompt> prompt_of_templates(const NamedTemplates& templates) {
  constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
  const std::string* text = templates.find("rerank");
  if (text == nullptr) return std::nullopt;
  const std::size_t query = text->find(kQuery);
  const std::size_t document = query == text->npos ? query : text->find(kDocument, query);
  if (document == text->npos) return std::nullopt;
  const std::size_t after_query = query + kQuery.size();
  return PairPrompt{.begin = text->substr(0, query),
                    .before_query = {},
                    .before_document = text->substr(after_query, document - after_query),
                    .end = text->substr(document + kDocument.size()),
                    .instruction = {}};
}

}  // namespace

Result<LabelInfo> read_label_config(const ModelFolder& folder, const NamedTemplates& templates, std::int64_t n_labels) {
  LATHE_TRY(const Json config, read_config_json(folder));
  LabelInfo info;
  const auto names = config.find("id2label");
  const bool has_names = names != config.end() && names->is_object();
  for (std::int64_t i = 0; i < n_labels; ++i) {
    const std::string name = has_names ? text_in(*names, std::to_string(i).c_str()) : std::string();
    info.labels.push_back(name.empty() ? fmt::format("LABEL_{}", i) : name);
  }
  LATHE_TRY(info.activation, read_activation_of_labels(config, n_labels));
  const auto judges = config.find("is_original_qwen3_reranker");
  if (judges != config.end() && *judges == true) info.prompt = qwen3_reranker_prompt();
  if (!folder.gguf().empty()) info.prompt = prompt_of_templates(templates);
  info.doubles_separator = text_in(config, "model_type").find("roberta") != std::string::npos;
  return info;
}

}  // namespace lathe::engine
