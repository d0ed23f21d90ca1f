// SPDX-License-Identifier: Apache-2.0
#include "app/manual/page_choices.h"

#include <algorithm>

#include "app/api/manual.h"
#include "engine/api/options.h"

namespace lathe::app {
namespace {

constexpr std::string_view kBegin = "{choices of ", kFlag = "--";

/// "`paged`, `static`"; empty if no option of the engine has this name, or it has no choices.
std::string choices_text(std::string_view option) {
  std::string text;
  for (const engine::OptionDescriptor& row : engine::engine_option_table()) {
    if (row.name != option) continue;
    for (const std::string_view choice : engine::choices_of(row)) {
      text += text.empty() ? "`" : ", `";
      text += choice;
      text += '`';
    }
  }
  return text;
}

}  // namespace

std::string with_choices(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find(kBegin, at), text.size());
    const std::size_t end = text.find('}', begin);
    out += text.substr(at, begin - at);
    if (end == text.npos) return out.append(text.substr(begin));
    const std::string_view flag = text.substr(begin + kBegin.size(), end - begin - kBegin.size());
    const std::string choices = flag.starts_with(kFlag) ? choices_text(option_name(flag)) : std::string();
    out += choices.empty() ? std::string(text.substr(begin, end + 1 - begin)) : choices;
    at = end + 1;
  }
  return out;
}

}  // namespace lathe::app
