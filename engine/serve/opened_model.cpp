// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/opened_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/tokenizer.h"
#include "engine/load/loaders.h"
#include "engine/model/architecture.h"
#include "engine/model/random_checkpoint.h"
#include "engine/model/token_ids.h"
#include "engine/serve/chat_template_source.h"
#include "engine/serve/config_source.h"
#include "engine/text/tokenizer_config.h"
#include "kernels/api/roofline.h"

namespace lathe::engine {

namespace {

// Folder name of the bundled model, in the source tree and where it is installed.
constexpr std::string_view kDemoFolder = "demo_model";

struct TokenizerKind {
  std::string_view file, kind;
};
// Tokenizer files in the order of open_tokenizer().
constexpr std::array kTokenizerKinds = {
    TokenizerKind{"tokenizer.json", "bpe"}, TokenizerKind{"tokenizer.model", "sentencepiece"},
    TokenizerKind{"vocab.json", "bpe"}, TokenizerKind{"qwen.tiktoken", "bpe"}, TokenizerKind{"vocab.txt", "wordpiece"}};

/// Determined by file names alone: opening a large vocabulary takes longer than reading all headers.
std::string tokenizer_kind(const ModelFolder& folder) {
  if (!folder.gguf().empty()) return "gguf";
  if (folder.shape() != nullptr) return "bytes";
  for (const TokenizerKind& known : kTokenizerKinds) {
    if (folder.has(known.file)) return std::string(known.kind);
  }
  return {};
}

/// Joins the end-of-sequence ids of both files: each counts.
std::vector<std::int32_t> all_eos_ids(const ModelConfig& config, const GenerationConfig& generation) {
  std::vector<std::int32_t> ids = generation.eos_ids;
  ids.insert(ids.end(), config.eos_ids.begin(), config.eos_ids.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// Adds warnings; a warning that two readers of one file give is kept once.
void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& line : from) {
    if (std::find(to.begin(), to.end(), line) == to.end()) to.push_back(line);
  }
}

std::string format_name(const std::optional<kernels::WeightFormat>& format) {
  return format ? std::string(kernels::name_of(*format)) : std::string();
}

/// Reads the chat templates; an unreadable template disables chat with a warning, and the model still loads. `error`: why no
/// template is left, if there are files with some.
NamedTemplates chat_templates_of(const ModelFolder& folder, std::vector<std::string>& warnings, std::string& error) {
  const std::size_t n_before = warnings.size();
  auto templates = read_chat_templates(folder, warnings);
  if (templates && !templates->empty()) return std::move(*templates);
  if (!templates) {
    error = fmt::format("{}: {}", templates.error().where, templates.error().message);
    warnings.push_back(fmt::format("no chat template is used: {}", error));
  } else if (warnings.size() > n_before) {
    error = warnings[n_before];
  }
  return {};
}

std::vector<std::string> warnings_of_tokenizer_config(const ModelFolder& folder) {
  auto config = read_tokenizer_config(folder);
  return config ? std::move(config->warnings) : std::vector<std::string>();  // opening the tokenizer reports the error
}

/// Collects the model's properties. `warnings`: about files other than weights.
ModelInfo describe(const OpenedModel& model, std::vector<std::string> warnings) {
  const ModelConfig& config = model.config;
  ModelInfo info;
  info.warnings = std::move(warnings);
  info.path = model.folder.path();
  info.name = model.folder.name();
  info.architecture = config.architecture->name;
  info.whole = config.whole;
  info.file_format = model.checkpoint.file_format();
  info.n_parameters = model.plan.n_parameters;
  info.file_bytes = model.checkpoint.n_bytes();
  info.vocab_size = config.vocab_size;
  info.hidden_size = config.hidden_size;
  info.n_layers = config.n_layers;
  info.n_heads = config.n_heads;
  info.n_kv_heads = config.n_kv_heads;
  info.head_dim = config.head_dim;
  info.intermediate_size = config.intermediate_size;
  info.max_position_embeddings = config.max_position_embeddings;
  info.rope_scaling = "none";
  if (!config.ropes.empty()) {
    info.rope_theta = config.ropes.front().theta;
    info.rope_scaling = describe_scaling(config.ropes.front());
  }
  info.tied_embeddings = config.tied_embeddings;
  info.has_chat_template = model.chat_templates.choose(false) != nullptr;
  for (const NamedTemplate& one : model.chat_templates.all()) info.chat_templates.push_back(one.name);
  info.tokenizer = tokenizer_kind(model.folder);
  info.bos_id = config.bos_id;
  info.eos_ids = all_eos_ids(config, model.generation);
  info.stored_dtype = name_of(model.plan.stored.dtype);
  info.stored_quantization = kept_formats(model.plan.stored, false);
  info.stored_expert_quantization = kept_formats(model.plan.stored, true);
  info.stored_head_quantization = format_name(model.plan.stored.head);
  for (const StoredLayer& layer : model.plan.stored.layers) {
    auto& names = info.stored_layer_quantizations.emplace_back();
    std::transform(layer.begin(), layer.end(), names.begin(), format_name);
  }
  info.has_input_orders = model.plan.stored.matrices_are_ordered;
  info.has_expert_input_orders = model.plan.stored.experts_are_ordered;
  info.quantization_scheme = model.checkpoint.scheme();
  info.tensors_by_dtype = model.plan.tensors_by_dtype;
  append(info.warnings, model.checkpoint.warnings());
  append(info.warnings, model.plan.warnings);
  append(info.warnings, model.generation.warnings);
  if (info.tokenizer.empty())
    info.warnings.emplace_back(
        "no tokenizer: the folder has neither tokenizer.json nor tokenizer.model nor a vocabulary; name one with "
        "--tokenizer");
  info.is_demo = model.folder.name() == kDemoFolder;
  return info;
}

}  // namespace

Result<OpenedModel> open_model(const std::string& path, ModelUse use, const std::string& overrides) {
  LATHE_TRY(ModelFolder folder, ModelFolder::open(path));
  LATHE_TRY_VOID(folder.override_config(overrides));
  LATHE_TRY(const Json config_json, read_config_json(folder));
  LATHE_TRY(ModelConfig config, read_model_config(config_json));
  if (use == ModelUse::generate && !config.has_head) {
    return fail(ErrorCode::model_refused,
                fmt::format("{} has no output head: it turns texts into vectors and cannot generate text; see lathe embed",
                            config.architecture->name),
                "config.json: architectures");
  }
  if (use == ModelUse::embed) config.has_head = false;
  std::vector<std::string> warnings = folder.warnings();
  append(warnings, warnings_of_token_ids(config_json, config.vocab_size,
                                         folder.gguf().empty() ? "config.json" : std::string_view(folder.gguf())));
  const Json generation_json = read_generation_json(folder, warnings);
  GenerationConfig generation = read_generation_config(generation_json, config.vocab_size);
  LATHE_TRY(Checkpoint checkpoint,
            folder.shape() != nullptr ? random_checkpoint(config, folder.name()) : open_checkpoint(folder));
  LATHE_TRY(WeightPlan plan, plan_weights(checkpoint, config));
  std::string template_error;
  NamedTemplates chat_templates = chat_templates_of(folder, warnings, template_error);
  append(warnings, warnings_of_tokenizer_config(folder));
  config.tied_embeddings = plan.tied_embeddings;
  OpenedModel model{.folder = std::move(folder),
                    .config = std::move(config),
                    .checkpoint = std::move(checkpoint),
                    .plan = std::move(plan),
                    .generation = std::move(generation),
                    .chat_templates = std::move(chat_templates),
                    .chat_template_error = std::move(template_error),
                    .info = {}};
  model.info = describe(model, std::move(warnings));
  return model;
}

Result<ModelInfo> inspect_checkpoint(const std::string& path) {
  LATHE_TRY(OpenedModel model, open_model(path, ModelUse::inspect));
  return std::move(model.info);
}

std::optional<std::string> tokenizer_warning(const ModelInfo& info, const std::string& tokenizer) {
  if (tokenizer.empty() && info.tokenizer.empty()) return std::nullopt;
  const auto opened = open_tokenizer(tokenizer.empty() ? info.path : tokenizer);
  if (opened) return std::nullopt;
  const Error& error = opened.error();
  return fmt::format("the tokenizer cannot be read, so a load will fail: {}{}{}", error.where,
                     error.where.empty() ? "" : ": ", error.message);
}

}  // namespace lathe::engine
