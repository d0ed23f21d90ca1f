// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_tokenizer.h"

namespace lathe::tests {
namespace {

constexpr std::string_view kCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?-+*/=()[]{}<>'\"#$%&@^_|~";

}  // namespace

std::string FakeTokenizer::piece(std::int32_t id) const {
  switch (id) {
    case kUnk: return "<unk>";
    case kBos: return "<s>";
    case kEos: return "</s>";
    case kHalfOfE: return "\xc3";
    case kOtherHalfOfE: return "\xa9";
    case kSpace: return " ";
    default: return std::string(1, kCharacters[static_cast<std::size_t>(id - kA) % kCharacters.size()]);
  }
}

std::optional<std::int32_t> FakeTokenizer::id_of(std::string_view wanted) const {
  for (std::int32_t id = 0; id < vocab_size_; ++id) {
    if (piece(id) == wanted) return id;
  }
  return std::nullopt;
}

engine::Result<std::vector<std::int32_t>> FakeTokenizer::encode(std::string_view text, bool add_special, bool) const {
  std::vector<std::int32_t> ids;
  if (add_special) ids.push_back(kBos);
  for (const char c : text) ids.push_back(id_of(std::string_view(&c, 1)).value_or(kUnk));
  return ids;
}

engine::Result<std::vector<std::int32_t>> FakeTokenizer::encode_spans(std::span<const engine::TextSpan> spans) const {
  std::vector<std::int32_t> ids;
  for (const engine::TextSpan& span : spans) {
    LATHE_TRY(const auto more, encode(span.text, false, span.parse_special));
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

std::string FakeTokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (!skip_special || !is_special(id)) text += piece(id);
  }
  return text;
}

std::string FakeTokenizer::decode_bytes(std::int32_t id, bool) const { return piece(id); }

}  // namespace lathe::tests
