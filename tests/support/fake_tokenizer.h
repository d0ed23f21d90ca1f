// SPDX-License-Identifier: Apache-2.0
// FakeTokenizer: a small vocabulary of single characters, with tokens that are half a character.
#pragma once

#include "engine/api/tokenizer.h"

namespace lathe::tests {

/// 0 <unk>, 1 <s>, 2 </s>, 3 and 4 the two bytes of "é", 5 a space, from 6 on the letters a..z, A..Z and so on through the
/// printable ASCII characters, again and again.
class FakeTokenizer final : public engine::Tokenizer {
 public:
  static constexpr std::int32_t kUnk = 0, kBos = 1, kEos = 2, kHalfOfE = 3, kOtherHalfOfE = 4, kSpace = 5, kA = 6;

  explicit FakeTokenizer(std::int32_t vocab_size) : vocab_size_(vocab_size) {}
  std::string_view kind() const override { return "fake"; }
  std::int32_t vocab_size() const override { return vocab_size_; }
  std::optional<std::int32_t> bos_id() const override { return kBos; }
  const std::vector<std::int32_t>& eos_ids() const override { return eos_ids_; }
  bool adds_bos() const override { return true; }
  bool is_special(std::int32_t id) const override { return id <= kEos; }
  std::optional<std::int32_t> id_of(std::string_view piece) const override;
  std::string piece(std::int32_t id) const override;
  engine::Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special,
                                                   bool parse_special) const override;
  engine::Result<std::vector<std::int32_t>> encode_spans(std::span<const engine::TextSpan> spans) const override;
  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override;
  std::string decode_bytes(std::int32_t id, bool first) const override;

 private:
  std::int32_t vocab_size_;
  std::vector<std::int32_t> eos_ids_{kEos};
};

}  // namespace lathe::tests
