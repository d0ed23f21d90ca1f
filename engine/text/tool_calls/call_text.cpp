// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/call_text.h"

#include <array>
#include <string>

#include "kernels/api/check.h"

namespace lathe::engine {

OrderedJson tag_text(std::string_view text) { return {{"type", "const_string"}, {"value", std::string(text)}}; }

OrderedJson tag_sequence(OrderedJson parts) {
  if (parts.empty()) return tag_text("");
  return {{"type", "sequence"}, {"elements", std::move(parts)}};
}

OrderedJson tag_choice(OrderedJson parts) { return {{"type", "or"}, {"elements", std::move(parts)}}; }

OrderedJson tag_repeat(const char* type, OrderedJson content) { return {{"type", type}, {"content", std::move(content)}}; }

const AnswerMarker* CallTextWriter::token_at(std::string_view text) const {
  const AnswerMarker* found = nullptr;
  for (const AnswerMarker& marker : markers_) {
    const bool is_longer = found == nullptr || marker.text.size() > found->text.size();
    if (!marker.text.empty() && text.starts_with(marker.text) && is_longer) found = &marker;
  }
  return found;
}

OrderedJson CallTextWriter::spelled(std::string_view text) const {
  OrderedJson parts = OrderedJson::array();
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) parts.push_back(std::exchange(literal, {}));
  };
  while (!text.empty()) {
    const AnswerMarker* token = token_at(text);
    if (token != nullptr) {
      end_literal();
      parts.push_back(token->id);
      text.remove_prefix(token->text.size());
    } else {
      literal += text.front();
      text.remove_prefix(1);
    }
  }
  end_literal();
  return parts;
}

void CallTextWriter::add_literal(OrderedJson& parts, std::string_view text) const {
  for (const OrderedJson& part : spelled(text)) {
    if (part.is_string()) parts.push_back(tag_text(part.get<std::string>()));
    else parts.push_back({{"type", "token"}, {"token", part}});
  }
}

OrderedJson CallTextWriter::blanks() const { return {{"type", "regex"}, {"pattern", "[ \\n]{0,2}"}}; }

OrderedJson CallTextWriter::expand(std::string_view text, const Parts& parts) const {
  constexpr std::array<std::string_view, 8> kPlaces = {"_", "name", "index", "json", "values", "key", "value", "text"};
  OrderedJson out = OrderedJson::array();
  std::string literal;
  while (!text.empty()) {
    const std::size_t place = text.find('$');
    literal += text.substr(0, place);
    if (place == text.npos) break;
    text.remove_prefix(place + 1);
    std::string_view name;
    for (const std::string_view one : kPlaces) {
      if (text.starts_with(one) && one.size() > name.size()) name = one;
    }
    LATHE_CHECK(!name.empty());
    text.remove_prefix(name.size());
    if (name == "name" || name == "key") {
      // Between quotes it is a string of JSON; names without quotes need no escapes.
      const std::string json = dump_json(OrderedJson(std::string(name == "name" ? parts.name : parts.key)));
      literal += std::string_view(json).substr(1, json.size() - 2);
      continue;
    }
    add_literal(out, std::exchange(literal, {}));
    if (name == "_") out.push_back(blanks());
    else if (name == "index") out.push_back({{"type", "regex"}, {"pattern", "0|[1-9][0-9]?"}});
    else
      out.push_back(name == "json"     ? parts.json
                    : name == "values" ? parts.values
                    : name == "value"  ? parts.value
                                       : parts.text);
  }
  add_literal(out, literal);
  return tag_sequence(std::move(out));
}

}  // namespace lathe::engine
