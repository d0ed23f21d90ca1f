// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/character_spelling.h"

#include <fmt/format.h>

#include "engine/api/utf8.h"

namespace lathe::engine::grammar {

const CodePointSet& json_plain_characters() {
  static const CodePointSet set =
      CodePointSet{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {kFirstSurrogate, kLastSurrogate}}.complement();
  return set;
}

std::string json_escape(char32_t code_point) {
  switch (code_point) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code_point));
  }
}

void append_characters(GrammarBuilder& builder, NodeId from, const CodePointSet& set, NodeId to, Spelling spelling) {
  if (spelling == Spelling::plain) return builder.append_to(from, set, to);
  builder.append_to(from, set.intersect(json_plain_characters()), to);
  const CodePointSet escaped = set.without(json_plain_characters()).without({{kFirstSurrogate, kLastSurrogate}});
  for (const CodePointRange& range : escaped.ranges()) {
    for (char32_t c = range.first; c <= range.last; ++c) builder.add_empty(builder.append(from, json_escape(c)), to);
  }
}

NodeId append_text(GrammarBuilder& builder, NodeId from, std::string_view text, Spelling spelling) {
  for (std::size_t at = 0; at < text.size() && !builder.failed();) {
    const Utf8Step step = read_utf8(text, at);
    if (!step.valid) builder.refuse(fmt::format("at byte {}: the bytes are not UTF-8", at));
    at += step.size;
    const NodeId to = builder.add_node();
    append_characters(builder, from, {{step.code, step.code}}, to, spelling);
    from = to;
  }
  return from;
}

}  // namespace lathe::engine::grammar
