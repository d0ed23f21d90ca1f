// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "engine/api/text_template.h"
#include "engine/base/text_file.h"
#include "engine/base/utf8.h"
#include "engine/serve/chat_template_source.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {
namespace {

/// Distinguishes a template's text from a file name, which has none of these.
bool is_template_text(const std::string& text) {
  return text.find("{{") != text.npos || text.find("{%") != text.npos || text.find('\n') != text.npos;
}

}  // namespace

Result<TemplateSource> read_template_file(const std::string& path) {
  constexpr std::size_t kMaxTemplateBytes = 1u << 20;
  TemplateSource source;
  LATHE_TRY(std::string text, read_text_file(path, kMaxTemplateBytes));
  source.templates.set(NamedTemplates::kDefault, std::move(text));
  return source;
}

Result<NamedTemplates> choose_templates(const NamedTemplates& of_model, const std::string& option) {
  if (option.empty()) return of_model;
  NamedTemplates chosen;
  if (const std::string* text = of_model.find(option)) {
    chosen.set(NamedTemplates::kDefault, *text);
    return chosen;
  }
  if (is_template_text(option)) {
    chosen.set(NamedTemplates::kDefault, option);
    return chosen;
  }
  std::error_code error;
  if (!std::filesystem::exists(option, error)) {
    const std::string names = of_model.names();
    return fail(
        ErrorCode::not_found,
        fmt::format("\"{}\" is neither a file, nor the text of a template, nor one of the model's chat templates ({})",
                    printable_excerpt(option), names.empty() ? "the model has none" : printable_excerpt(names, 400)),
        "chat_template");
  }
  LATHE_TRY(TemplateSource given, read_template_file(option));
  return std::move(given.templates);
}

Result<TemplateSource> read_template_of_model(const std::string& path) {
  LATHE_TRY(const ModelFolder folder, ModelFolder::open(path));
  TemplateSource source;
  std::vector<std::string>& warnings = source.warnings;
  LATHE_TRY(source.templates, read_chat_templates(folder, warnings));
  if (source.templates.empty()) {
    return fail(
        ErrorCode::model_refused,
        fmt::format("the checkpoint has no chat template{}{}", warnings.empty() ? "" : ": ", fmt::join(warnings, "; ")),
        folder.name());
  }
  LATHE_TRY(const TokenizerConfig config, read_tokenizer_config(folder));
  const auto name = [&](const char* key, const std::optional<std::string>& token) {
    if (token) source.token_names[key] = *token;
  };
  name("bos_token", config.bos_token);
  name("eos_token", config.eos_token);
  name("unk_token", config.unk_token);
  name("pad_token", config.pad_token);
  return source;
}

}  // namespace lathe::engine
