// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

/// Items of a list or an object, one per line. Vocabularies are too long for Json objects that keep an order.
class Lines {
 public:
  void add(const std::string& item) {
    text_ += text_.empty() ? "\n      " : ",\n      ";
    text_ += item;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string vocabulary_of(const TokenizerDescription& description) {
  Lines lines;
  std::unordered_set<std::string_view> seen;
  for (const auto& [piece, id] : description.vocabulary) {
    if (seen.insert(piece).second) lines.add(fmt::format("{}: {}", dump_json(Json(piece)), id));
  }
  return lines.text();
}

/// Writes merges as "left right", which all readers support, unless a piece contains a space.
std::string merges_of(const TokenizerDescription& description) {
  const bool has_blanks = std::any_of(description.merges.begin(), description.merges.end(), [](const auto& merge) {
    return merge.first.find(' ') != std::string::npos || merge.second.find(' ') != std::string::npos;
  });
  Lines lines;
  for (const auto& [left, right] : description.merges) {
    lines.add(dump_json(has_blanks ? Json::array({left, right}) : Json(left + " " + right)));
  }
  return lines.text();
}

Json added_tokens_of(const TokenizerDescription& description) {
  Json tokens = Json::array();
  for (const AddedToken& token : description.added_tokens) {
    tokens.push_back({{"id", token.id},
                      {"content", token.content},
                      {"single_word", token.single_word},
                      {"lstrip", token.lstrip},
                      {"rstrip", token.rstrip},
                      {"normalized", token.normalized},
                      {"special", token.special}});
  }
  return tokens;
}

}  // namespace

std::string write_tokenizer_json(const TokenizerDescription& description) {
  LATHE_CHECK(description.model.value("type", "") == "BPE" && !description.merges_by_id);
  std::string text = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n";
  const auto field = [&text](std::string_view name, const Json& value) {
    text += fmt::format("  \"{}\": {},\n", name, dump_json(value));
  };
  field("added_tokens", added_tokens_of(description));
  field("normalizer", description.normalizer);
  field("pre_tokenizer", description.pre_tokenizer);
  field("post_processor", description.post_processor);
  field("decoder", description.decoder);
  text += "  \"model\": {\n";
  for (const auto& [key, value] : description.model.items()) text += fmt::format("    \"{}\": {},\n", key, dump_json(value));
  text += fmt::format("    \"vocab\": {{{}\n    }},\n    \"merges\": [{}\n    ]\n  }}\n}}\n", vocabulary_of(description),
                      merges_of(description));
  return text;
}

}  // namespace lathe::engine
