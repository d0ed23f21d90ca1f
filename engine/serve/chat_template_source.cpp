// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/chat_template_source.h"

#include "engine/load/gguf/gguf_files.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kTemplateFile = "chat_template.jinja";
constexpr std::string_view kTokenizerFile = "tokenizer_config.json";
constexpr std::int64_t kMaxTemplateBytes = 1 << 20;

/// [{"name": "default", "template": "..."}, {"name": "tool_use", ...}]
std::optional<std::string> default_of(const Json& list) {
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const auto name = entry.find("name"), text = entry.find("template");
    if (name == entry.end() || text == entry.end() || !text->is_string()) continue;
    if (*name == "default") return text->get<std::string>();
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> read_chat_template_source(const ModelFolder& folder) {
  if (!folder.gguf().empty()) {
    LATHE_TRY(const GgufFile file, open_gguf(folder));
    return file.header.text("tokenizer.chat_template");
  }
  if (folder.has(kTemplateFile)) {
    LATHE_TRY(std::string text, folder.read_text(kTemplateFile, kMaxTemplateBytes));
    return std::optional<std::string>(std::move(text));
  }
  LATHE_TRY(const Json config, folder.read_json_if_present(kTokenizerFile));
  const auto found = config.find("chat_template");
  if (found == config.end()) return std::optional<std::string>();
  if (found->is_string()) return std::optional<std::string>(found->get<std::string>());
  return found->is_array() ? default_of(*found) : std::nullopt;
}

}  // namespace lathe::engine
