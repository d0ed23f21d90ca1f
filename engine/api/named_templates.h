// SPDX-License-Identifier: Apache-2.0
// NamedTemplates: the chat templates of a checkpoint by name, and the choice of one for a chat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine {

struct NamedTemplate {
  std::string name;
  std::string text;
  bool operator==(const NamedTemplate&) const = default;
};

/// Chat templates, sorted by name; the only template of a checkpoint is named "default".
/// Source: PreTrainedTokenizerBase.get_chat_template of transformers.
class NamedTemplates {
 public:
  static constexpr std::string_view kDefault = "default", kToolUse = "tool_use";

  /// Adds a template, or replaces the template of that name.
  void set(std::string_view name, std::string text);

  bool empty() const { return templates_.empty(); }
  const std::vector<NamedTemplate>& all() const { return templates_; }
  /// The template of that name; null if there is none.
  const std::string* find(std::string_view name) const;
  /// The template for a chat: with tools "tool_use" if that exists, else "default". Null if it is missing.
  const std::string* choose(bool has_tools) const;
  /// All names: "default, rag, tool_use".
  std::string names() const;
  bool operator==(const NamedTemplates&) const = default;

 private:
  std::vector<NamedTemplate> templates_;
};

}  // namespace lathe::engine
