// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/token_offsets.h"

#include <string>

namespace lathe::app {
namespace {

/// Bytes that a normalizer may have dropped or added between two unchanged tokens.
constexpr std::size_t kSlackBytes = 16;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Position in the text, advanced token by token.
class TextWalk {
 public:
  explicit TextWalk(std::string_view text) : text_(text) {}

  bool skip(std::string_view piece) {
    if (piece.empty() || !text_.substr(at_).starts_with(piece)) return false;
    move_to(at_ + piece.size());
    n_lost_ = 0;
    return true;
  }
  /// Searches a piece a little further on, after text that no token produced. False: not found.
  bool find(std::string_view piece) {
    if (piece.empty()) return false;
    const std::size_t reach = kSlackBytes + 2 * n_lost_ + piece.size();
    const std::size_t found = text_.substr(at_, reach + piece.size()).find(piece);
    if (found == std::string_view::npos) {
      n_lost_ += piece.size();
      return false;
    }
    move_to(at_ + found);
    return true;
  }
  std::size_t offset() const { return n_characters_; }

 private:
  /// A character counts once its last byte is passed.
  void move_to(std::size_t to) {
    const auto is_whole = [&](std::size_t end) { return end == text_.size() || !continues_character(text_[end]); };
    for (; at_ < to; ++at_) n_characters_ += is_whole(at_ + 1) ? 1 : 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t n_characters_ = 0;
  std::size_t n_lost_ = 0;  ///< bytes of pieces that were not found since the last one found
};

}  // namespace

std::vector<TokenOffset> token_offsets(const engine::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids,
                                       std::string_view text) {
  std::vector<TokenOffset> offsets;
  offsets.reserve(ids.size());
  TextWalk walk(text);
  for (const std::int32_t id : ids) {
    const std::string piece = tokenizer.piece(id), first = tokenizer.decode_bytes(id, true);
    TokenOffset token{.offset = walk.offset()};
    if (!walk.skip(piece)) {
      token.is_first = first != piece && walk.skip(first);
      // A control token that the text does not have at this position, such as BOS, has no text.
      if (!token.is_first && !tokenizer.is_special(id) && walk.find(piece)) {
        token.offset = walk.offset();
        walk.skip(piece);
      }
    }
    offsets.push_back(token);
  }
  return offsets;
}

}  // namespace lathe::app
