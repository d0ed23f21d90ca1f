// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/stripped_tags.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/text_changes.h"

namespace lathe::engine::jinja {
namespace {

/// Removes comments and tags, up to the first one that is not closed.
MarkedText without_elements(Runtime& runtime, const MarkedText& text) {
  runtime.charge_text(text.size());
  const std::string_view all = text.text();
  MarkedText out;
  std::size_t done = 0;
  for (std::size_t begin = 0; (begin = all.find('<', done)) != all.npos;) {
    const bool is_comment = all.substr(begin).starts_with("<!--");
    const std::size_t end = is_comment ? all.find("-->", begin + 4) : all.find('>', begin);
    if (end == all.npos) break;
    out.append_part(text, done, begin);
    done = end + (is_comment ? 3 : 1);
  }
  out.append_part(text, done, text.size());
  return out;
}

/// Returns the character of "#38" or "#x26"; empty if the name is not such a number.
std::string numbered_character(std::string_view name) {
  const bool is_hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
  const std::string_view digits = name.substr(is_hex ? 2 : 1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
  if (digits.empty() || end != digits.data() + digits.size()) return {};
  const bool is_character = error == std::errc() && code > 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  std::string out;
  append_utf8(out, is_character ? static_cast<char32_t>(code) : U'\uFFFD');
  return out;
}

std::string named_character(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {
      {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\xC2\xA0"}}};
  for (const auto& [known, character] : kNames) {
    if (known == name) return std::string(character);
  }
  return {};
}

MarkedText unescaped(Runtime& runtime, const MarkedText& text) {
  constexpr std::size_t kLongestName = 32;
  MarkedText out;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.text().find('&', at)) != std::string::npos; ++at) {
    runtime.charge();
    const std::string_view rest = std::string_view(text.text()).substr(at + 1, kLongestName + 1);
    const std::string_view name = rest.substr(0, rest.find(';'));
    if (name.size() == rest.size() || name.empty()) continue;
    const std::string character = name[0] == '#' ? numbered_character(name) : named_character(name);
    if (character.empty()) continue;
    out.append_part(text, done, at);
    out.append(character, text.source_at(at));
    done = at + name.size() + 2;
    at = done - 1;
  }
  out.append_part(text, done, text.size());
  return out;
}

}  // namespace

MarkedText without_tags(Runtime& runtime, const MarkedText& text) {
  const Value words(without_elements(runtime, text));
  const Items parts = items_of(runtime, find_method(words, "split")(runtime, words, {}));
  return unescaped(runtime, joined_items(runtime, MarkedText(" ", Source::model), parts));
}

}  // namespace lathe::engine::jinja
