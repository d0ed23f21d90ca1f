// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/config_source.h"

#include <fmt/format.h>

#include "engine/base/json_text.h"
#include "engine/base/utf8.h"
#include "engine/load/files/downloads.h"
#include "engine/load/gguf/gguf_config.h"
#include "engine/load/gguf/gguf_ends.h"
#include "engine/load/gguf/gguf_files.h"
#include "engine/serve/checkpoint_files.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kAdapterFile = "adapter_config.json";

/// Refuses a folder without config.json, and explains what it holds if it is often mistaken for a model.
tl::unexpected<Error> refuse_without_config(const ModelFolder& folder) {
  if (folder.has(kAdapterFile)) {
    std::vector<std::string> ignored;
    const std::string base = text_in(folder.read_optional_json(kAdapterFile, ignored), "base_model_name_or_path");
    return fail(ErrorCode::model_refused,
                fmt::format("this is an adapter (LoRA){}, not a model; merge it into its base model (in peft: "
                            "model.merge_and_unload()), and save and open that",
                            base.empty() ? "" : fmt::format(" for {}", printable_excerpt(base, 200))),
                std::string(kAdapterFile));
  }
  if (folder.has("params.json")) {
    return fail(ErrorCode::model_refused,
                "file is missing; params.json belongs to weights under Mistral's or Meta's own names: also download the "
                "files for transformers (config.json and model.safetensors, or its numbered files with their index)",
                std::string(kConfigFile));
  }
  return fail(ErrorCode::model_refused,
              "file is missing; the folder of a model has it next to the weights" + downloads_text(folder.path()),
              std::string(kConfigFile));
}

/// Refuses a hub's error answer that was saved as config.json, for a missing or gated file: {"error": "Repository not
/// found"}.
Result<void> check_is_no_answer(const Json& config) {
  if (config.contains("architectures") || config.contains("model_type")) return {};
  for (const char* key : {"error", "message", "detail", "errors"}) {
    if (!config.contains(key)) continue;
    return fail(ErrorCode::model_refused,
                fmt::format("is the error message of a server, not a configuration ({}); download the file again",
                            printable_excerpt(dump_json(config), 120)),
                std::string(kConfigFile));
  }
  return {};
}

}  // namespace

Result<Json> read_config_json(const ModelFolder& folder) {
  if (folder.gguf().empty()) {
    if (!folder.has(kConfigFile)) return refuse_without_config(folder);
    LATHE_TRY(Json config, folder.read_json(kConfigFile));
    LATHE_TRY_VOID(check_is_no_answer(config));
    return config;
  }
  LATHE_TRY(const std::vector<GgufFile> files, open_gguf_set(folder));
  std::vector<GgufTensor> tensors;
  for (const GgufFile& file : files)
    tensors.insert(tensors.end(), file.header.tensors().begin(), file.header.tensors().end());
  return gguf_config(files.front().header, tensors);
}

/// A GGUF file has the list of tokens that are never generated.
Json read_generation_json(const ModelFolder& folder, std::vector<std::string>& warnings) {
  if (folder.gguf().empty()) return folder.read_optional_json("generation_config.json", warnings);
  const auto files = open_gguf_set(folder);
  if (!files) return Json::object();
  const auto suppressed = files->front().header.integers(kGgufSuppressedKey);
  if (!suppressed) {
    warnings.push_back(fmt::format("{} is left out: {}", suppressed.error().where, suppressed.error().message));
    return Json::object();
  }
  return suppressed->empty() ? Json::object() : Json{{"suppress_tokens", *suppressed}};
}

}  // namespace lathe::engine
