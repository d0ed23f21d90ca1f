// SPDX-License-Identifier: Apache-2.0
#include "tests/support/byte_tokenizer.h"

#include <array>

namespace lathe::tests {
namespace {

constexpr std::array<std::string_view, 7> kSpecial = {"<s>",        "</s>",     "<|user|>", "<|assistant|>",
                                                      "<|system|>", "<|tool|>", "<|end|>"};

/// The control token at the front of a text: its number among them, or none.
std::optional<std::size_t> special_at(std::string_view text) {
  for (std::size_t i = 0; i < kSpecial.size(); ++i) {
    if (text.starts_with(kSpecial[i])) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int32_t> ByteTokenizer::id_of(std::string_view piece) const {
  if (const auto special = special_at(piece); special && kSpecial[*special] == piece)
    return kBos + static_cast<std::int32_t>(*special);
  if (piece.size() == 1) return static_cast<unsigned char>(piece.front());
  return std::nullopt;
}

std::string ByteTokenizer::piece(std::int32_t id) const {
  if (id >= kBos) return std::string(kSpecial[static_cast<std::size_t>(id - kBos)]);
  return std::string(1, static_cast<char>(id));
}

engine::Result<std::vector<std::int32_t>> ByteTokenizer::encode(std::string_view text, bool add_special,
                                                                bool parse_special) const {
  std::vector<std::int32_t> ids;
  if (add_special) ids.push_back(kBos);
  while (!text.empty()) {
    const auto special = parse_special ? special_at(text) : std::nullopt;
    ids.push_back(special ? kBos + static_cast<std::int32_t>(*special) : static_cast<unsigned char>(text.front()));
    text.remove_prefix(special ? kSpecial[*special].size() : 1);
  }
  return ids;
}

engine::Result<std::vector<std::int32_t>> ByteTokenizer::encode_spans(std::span<const engine::TextSpan> spans) const {
  std::vector<std::int32_t> ids;
  for (const engine::TextSpan& span : spans) {
    LATHE_TRY(const auto more, encode(span.text, false, span.parse_special));
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (!skip_special || !is_special(id)) text += piece(id);
  }
  return text;
}

engine::Result<std::vector<engine::TextSpan>> PlainChatTemplate::render(const std::vector<engine::ChatMessage>& messages,
                                                                        const engine::ChatRenderOptions& options) const {
  std::vector<engine::TextSpan> spans;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == "system" && i > 0) {
      return engine::fail(engine::ErrorCode::invalid_argument, "System message must be at the beginning.");
    }
    spans.push_back({"<|" + messages[i].role + "|>", true});
    spans.push_back({messages[i].content, false});
    const bool open = options.continue_final_message && i + 1 == messages.size();
    if (!open) spans.push_back({"<|end|>", true});
  }
  if (options.add_generation_prompt) spans.push_back({"<|assistant|>", true});
  if (options.variables.value("enable_thinking", false)) spans.push_back({"[think]", true});
  return spans;
}

}  // namespace lathe::tests
