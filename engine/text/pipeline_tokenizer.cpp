// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pipeline_tokenizer.h"

#include "engine/text/normal_text.h"

namespace lathe::engine {

std::optional<std::int32_t> PipelineTokenizer::id_of(std::string_view piece) const {
  const auto found = parts_.names.find(std::string(piece));
  return found == parts_.names.end() ? std::nullopt : std::optional(found->second);
}

std::string PipelineTokenizer::decode_bytes(std::int32_t id, bool first) const {
  if (id < 0 || static_cast<std::size_t>(id) >= parts_.bytes.size()) return {};
  const auto index = static_cast<std::size_t>(id);
  if (!first) return parts_.joiner + parts_.bytes[index];
  const std::string& bytes = parts_.first_bytes.empty() ? parts_.bytes[index] : parts_.first_bytes[index];
  const bool strips = !parts_.strip_front.empty() && !is_special(id) && bytes.starts_with(parts_.strip_front);
  return strips ? bytes.substr(parts_.strip_front.size()) : bytes;
}

Result<void> PipelineTokenizer::encode_words(std::string text, bool at_start, EncodeBudget& budget,
                                             std::vector<std::int32_t>& ids) const {
  if (text.empty()) return {};
  Words words{.text = std::move(text), .ranges = {}, .at_start = at_start};
  words.ranges.push_back({0, words.text.size()});
  if (parts_.pretokenizer) LATHE_TRY_VOID(parts_.pretokenizer->apply(words, budget));
  return parts_.words->encode(words, budget, ids);
}

Result<void> PipelineTokenizer::encode_plain(const PlainPart& part, EncodeBudget& budget,
                                             std::vector<std::int32_t>& ids) const {
  NormalText normal(part, parts_.normalized.has_special());
  LATHE_TRY_VOID(normal.apply(parts_.normalizer.get(), budget));
  if (parts_.normalized.tokens().empty()) return encode_words(normal.take_text(), normal.at_start(), budget, ids);
  const std::string_view text = normal.text();
  std::size_t from = 0;
  for (const AddedTokenSet::Match& match : parts_.normalized.find(text, normal.special_allowed())) {
    LATHE_TRY_VOID(budget.check_time());
    if (match.range.begin > from) {
      const auto before = text.substr(from, match.range.begin - from);
      LATHE_TRY_VOID(encode_words(std::string(before), from == 0 && normal.at_start(), budget, ids));
    }
    ids.push_back(match.id);
    from = match.range.end;
  }
  return encode_words(std::string(text.substr(from)), from == 0 && normal.at_start(), budget, ids);
}

}  // namespace lathe::engine
