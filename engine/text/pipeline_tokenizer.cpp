// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pipeline_tokenizer.h"

#include "engine/base/utf8.h"

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

Result<void> PipelineTokenizer::encode_plain(std::string_view text, bool at_start, EncodeBudget& budget,
                                             std::vector<std::int32_t>& ids) const {
  Words words{.text = is_valid_utf8(text) ? std::string(text) : repaired_utf8(text), .ranges = {}, .at_start = at_start};
  if (parts_.normalizer) LATHE_TRY_VOID(parts_.normalizer->apply(words.text, budget));
  if (words.text.empty()) return {};
  words.ranges.push_back({0, words.text.size()});
  if (parts_.pretokenizer) LATHE_TRY_VOID(parts_.pretokenizer->apply(words, budget));
  return parts_.words->encode(words, budget, ids);
}

}  // namespace lathe::engine
