// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "engine/api/text_template.h"
#include "engine/base/text_file.h"
#include "engine/serve/chat_template_source.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {

Result<TemplateSource> read_template_file(const std::string& path) {
  constexpr std::size_t kMaxTemplateBytes = 1u << 20;
  TemplateSource source;
  LATHE_TRY(source.text, read_text_file(path, kMaxTemplateBytes));
  return source;
}

Result<TemplateSource> read_template_of_model(const std::string& path) {
  LATHE_TRY(const ModelFolder folder, ModelFolder::open(path));
  LATHE_TRY(auto text, read_chat_template_source(folder));
  if (!text) return fail(ErrorCode::model_refused, "the checkpoint has no chat template", folder.name());
  TemplateSource source{.text = *std::move(text)};
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
