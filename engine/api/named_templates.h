// SPDX-License-Identifier: Apache-2.0
// The chat templates of a checkpoint by name, and which of them a chat gets.
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

/// In the order of their names; a checkpoint that has one template has it as "default".
/// Source: PreTrainedTokenizerBase.get_chat_template of transformers.
class NamedTemplates {
 public:
  static constexpr std::string_view kDefault = "default", kToolUse = "tool_use";

  /// Replaces the one of that name.
  void set(std::string_view name, std::string text);

  bool empty() const { return templates_.empty(); }
  const std::vector<NamedTemplate>& all() const { return templates_; }
  /// Null when there is none of that name.
  const std::string* find(std::string_view name) const;
  /// The one that a chat gets: with tools "tool_use" where there is one, else "default". Null when it is missing.
  const std::string* choose(bool has_tools) const;
  /// "default, rag, tool_use"
  std::string names() const;
  bool operator==(const NamedTemplates&) const = default;

 private:
  std::vector<NamedTemplate> templates_;
};

}  // namespace lathe::engine
