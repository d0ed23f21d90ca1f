// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/chat_template_source.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "engine/load/gguf/gguf_files.h"

namespace lathe::engine {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplateFile = "chat_template.jinja", kTemplateFolder = "additional_chat_templates",
                           kEnding = ".jinja";
constexpr std::array<std::string_view, 2> kJsonFiles = {"tokenizer_config.json", "chat_template.json"};
constexpr std::string_view kGgufKey = "tokenizer.chat_template", kGgufNames = "tokenizer.chat_templates";
constexpr std::int64_t kMaxTemplateBytes = 1 << 20;
constexpr std::size_t kMaxTemplates = 64;

/// Parses a text, {"default": "...", "tool_use": "..."} or [{"name": "default", "template": "..."}, ...].
NamedTemplates templates_of(const Json& value) {
  NamedTemplates templates;
  if (value.is_string()) templates.set(NamedTemplates::kDefault, value.get<std::string>());
  if (value.is_object()) {
    for (const auto& [name, text] : value.items()) {
      if (text.is_string()) templates.set(name, text.get<std::string>());
    }
  }
  if (!value.is_array()) return templates;
  for (const Json& entry : value) {
    if (!entry.is_object()) continue;
    const auto name = entry.find("name"), text = entry.find("template");
    if (name == entry.end() || text == entry.end() || !name->is_string() || !text->is_string()) continue;
    templates.set(name->get_ref<const std::string&>(), text->get<std::string>());
  }
  return templates;
}

void add_file(const ModelFolder& folder, const std::string& file, std::string_view name, NamedTemplates& templates,
              std::vector<std::string>& warnings) {
  auto text = folder.read_text(file, kMaxTemplateBytes);
  if (!text) {
    warnings.push_back(fmt::format("{} is left out: {}", file, text.error().message));
  } else if (text->find_first_not_of(" \t\r\n") == text->npos) {
    warnings.push_back(fmt::format("{} is empty ({} bytes), and is left out", file, text->size()));
  } else {
    templates.set(name, std::move(*text));
  }
}

NamedTemplates read_template_files(const ModelFolder& folder, std::vector<std::string>& warnings) {
  NamedTemplates templates;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(folder.path()) / kTemplateFolder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!file.ends_with(kEnding)) continue;
    if (templates.all().size() >= kMaxTemplates) {
      warnings.push_back(
          fmt::format("{}/{} is left out: there are more than {} chat templates", kTemplateFolder, file, kMaxTemplates));
      break;
    }
    const std::string name = file.substr(0, file.size() - kEnding.size());
    add_file(folder, fmt::format("{}/{}", kTemplateFolder, file), name, templates, warnings);
  }
  if (folder.has(kTemplateFile)) {
    add_file(folder, std::string(kTemplateFile), NamedTemplates::kDefault, templates, warnings);
  }
  return templates;
}

Result<NamedTemplates> read_gguf_templates(const ModelFolder& folder) {
  LATHE_TRY(const GgufFile file, open_gguf(folder));
  NamedTemplates templates;
  const std::string prefix = fmt::format("{}.", kGgufKey);
  const auto& values = file.header.values();
  for (auto value = values.lower_bound(prefix); value != values.end() && value->first.starts_with(prefix); ++value) {
    LATHE_TRY(auto text, file.header.text(value->first));
    if (text && value->first.size() > prefix.size()) templates.set(value->first.substr(prefix.size()), *std::move(text));
  }
  LATHE_TRY(auto text, file.header.text(kGgufKey));
  if (text) templates.set(NamedTemplates::kDefault, *std::move(text));
  return templates;
}

}  // namespace

Result<NamedTemplates> read_chat_templates(const ModelFolder& folder, std::vector<std::string>& warnings) {
  if (!folder.gguf().empty()) return read_gguf_templates(folder);
  NamedTemplates templates = read_template_files(folder, warnings);
  for (const std::string_view file : kJsonFiles) {
    if (templates.find(NamedTemplates::kDefault) != nullptr) break;
    const Json config = folder.read_optional_json(file, warnings);
    const auto value = config.find("chat_template");
    if (value == config.end()) continue;
    NamedTemplates further = templates_of(*value);
    if (templates.empty()) {
      templates = std::move(further);
    } else if (const std::string* text = further.find(NamedTemplates::kDefault)) {
      templates.set(NamedTemplates::kDefault, *text);
    }
  }
  return templates;
}

void write_chat_templates(const NamedTemplates& templates, GgufMetadata& metadata) {
  std::vector<std::string> names;
  for (const NamedTemplate& one : templates.all()) {
    if (one.name == NamedTemplates::kDefault) {
      metadata.set_text(kGgufKey, one.text);
    } else {
      metadata.set_text(fmt::format("{}.{}", kGgufKey, one.name), one.text);
      names.push_back(one.name);
    }
  }
  if (!names.empty()) metadata.set_texts(kGgufNames, names);
}

Json chat_template_value(const NamedTemplates& templates) {
  const NamedTemplate& first = templates.all().front();
  if (templates.all().size() == 1 && first.name == NamedTemplates::kDefault) return first.text;
  Json list = Json::array();
  for (const NamedTemplate& one : templates.all()) list.push_back({{"name", one.name}, {"template", one.text}});
  return list;
}

}  // namespace lathe::engine
