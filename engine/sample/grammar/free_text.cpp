// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/free_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/api/utf8.h"

namespace lathe::engine::grammar {
namespace {

std::u32string characters_of(const std::string& text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    at += step.size;
    out += step.code;
  }
  return out;
}

/// The longest end of the text read so far that begins one of the strings.
using Beginning = std::u32string;

}  // namespace

FreeText add_free_text(GrammarBuilder& builder, const std::vector<std::string>& strings) {
  FreeText out;
  std::vector<std::u32string> wanted;
  std::map<Beginning, NodeId> nodes;
  CodePointSet alphabet;
  for (const std::string& text : strings) {
    wanted.push_back(characters_of(text));
    if (text.empty()) builder.refuse("a string that ends a free text must not be empty");
    for (const char32_t c : wanted.back()) alphabet.add(c, c);
    for (std::size_t n = 0; n < wanted.back().size() && !builder.failed(); ++n) {
      const auto [found, is_new] = nodes.try_emplace(wanted.back().substr(0, n), 0);
      if (is_new) found->second = builder.add_node();
    }
    out.behind.push_back(builder.add_node());
  }
  if (strings.empty()) nodes[{}] = builder.add_node();
  if (builder.failed()) return out;
  out.start = nodes.at({});
  const CodePointSet others = alphabet.complement();
  for (const auto& [beginning, node] : nodes) {
    out.places.push_back(node);
    builder.append_to(node, others, out.start);
    for (const CodePointRange& range : alphabet.ranges()) {
      for (char32_t c = range.first; c <= range.last && !builder.failed(); ++c) {
        const std::u32string read = beginning + c;
        const auto complete =
            std::find_if(wanted.begin(), wanted.end(), [&](const auto& text) { return read.ends_with(text); });
        if (complete != wanted.end()) {
          builder.append_to(node, {{c, c}}, out.behind[static_cast<std::size_t>(complete - wanted.begin())]);
          continue;
        }
        std::size_t begin = 0;
        while (!nodes.contains(read.substr(begin))) ++begin;
        builder.append_to(node, {{c, c}}, nodes.at(read.substr(begin)));
      }
    }
  }
  return out;
}

}  // namespace lathe::engine::grammar
