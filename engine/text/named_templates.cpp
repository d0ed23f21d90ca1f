// SPDX-License-Identifier: Apache-2.0
#include "engine/api/named_templates.h"

#include <algorithm>

namespace lathe::engine {

void NamedTemplates::set(std::string_view name, std::string text) {
  const auto at = std::lower_bound(templates_.begin(), templates_.end(), name,
                                   [](const NamedTemplate& one, std::string_view other) { return one.name < other; });
  if (at != templates_.end() && at->name == name) {
    at->text = std::move(text);
  } else {
    templates_.insert(at, {std::string(name), std::move(text)});
  }
}

const std::string* NamedTemplates::find(std::string_view name) const {
  const auto found =
      std::find_if(templates_.begin(), templates_.end(), [&](const NamedTemplate& one) { return one.name == name; });
  return found == templates_.end() ? nullptr : &found->text;
}

const std::string* NamedTemplates::choose(bool has_tools) const {
  const std::string* with_tools = has_tools ? find(kToolUse) : nullptr;
  return with_tools != nullptr ? with_tools : find(kDefault);
}

std::string NamedTemplates::names() const {
  std::string names;
  for (const NamedTemplate& one : templates_) names.append(names.empty() ? "" : ", ").append(one.name);
  return names;
}

}  // namespace lathe::engine
