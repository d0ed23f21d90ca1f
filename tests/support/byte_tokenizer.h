// SPDX-License-Identifier: Apache-2.0
// ByteTokenizer and PlainChatTemplate: a vocabulary of bytes, and a template that shows where control tokens stand.
#pragma once

#include "engine/api/chat.h"
#include "engine/api/tokenizer.h"

namespace lathe::tests {

/// Ids 0 to 255 are the bytes; then <s>, </s>, <|user|>, <|assistant|>, <|system|>, <|tool|>, <|end|>.
class ByteTokenizer : public engine::Tokenizer {
 public:
  static constexpr std::int32_t kBos = 256, kEos = 257, kUser = 258, kAssistant = 259, kSystem = 260, kTool = 261,
                                kEnd = 262, kVocabSize = 263;

  std::string_view kind() const override { return "bytes"; }
  std::int32_t vocab_size() const override { return kVocabSize; }
  std::optional<std::int32_t> bos_id() const override { return kBos; }
  const std::vector<std::int32_t>& eos_ids() const override { return eos_ids_; }
  bool adds_bos() const override { return true; }
  bool is_special(std::int32_t id) const override { return id >= kBos; }
  std::size_t max_bytes_per_token() const override { return std::string_view("<|assistant|>").size(); }
  std::optional<std::int32_t> id_of(std::string_view piece) const override;
  std::string piece(std::int32_t id) const override;
  engine::Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special,
                                                   bool parse_special) const override;
  engine::Result<std::vector<std::int32_t>> encode_spans(std::span<const engine::TextSpan> spans) const override;
  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override;
  std::string decode_bytes(std::int32_t id, bool first) const override { return static_cast<void>(first), piece(id); }

 private:
  std::vector<std::int32_t> eos_ids_{kEos};
};

/// <|role|>content<|end|> for each message; "[think]" when the variable enable_thinking is true. A system message must be
/// the first.
class PlainChatTemplate final : public engine::ChatTemplate {
 public:
  engine::Result<std::vector<engine::TextSpan>> render(const std::vector<engine::ChatMessage>& messages,
                                                       const engine::ChatRenderOptions& options) const override;
  const std::string& source(bool) const override { return source_; }

 private:
  std::string source_ = "{% if enable_thinking %}[think]{% endif %}";
};

}  // namespace lathe::tests
