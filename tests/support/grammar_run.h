// SPDX-License-Identifier: Apache-2.0
// A constraint and a vocabulary of bytes and of random strings, without a model.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sample/grammar/matcher.h"
#include "engine/sample/grammar/structured_outputs.h"
#include "tests/support/byte_tokenizer.h"

namespace lathe::tests {

/// Tokens: the bytes, the control tokens of ByteTokenizer, then strings of one to six characters that JSON and the tests
/// have often. Some strings occur twice.
class StringTokenizer final : public ByteTokenizer {
 public:
  explicit StringTokenizer(int n_strings) {
    std::mt19937 random(7);
    const std::string letters = "ab01\",:{}[] -.\\nue";
    for (int i = 0; i < n_strings; ++i) {
      std::string text;
      for (auto n = 1 + random() % 6; n > 0; --n) text += letters[random() % letters.size()];
      strings_.push_back(i % 50 == 0 ? text + "\xC3" : text);  // half a character
    }
  }
  std::int32_t vocab_size() const override { return kVocabSize + static_cast<std::int32_t>(strings_.size()); }
  bool is_special(std::int32_t id) const override { return id < kVocabSize && ByteTokenizer::is_special(id); }
  std::string piece(std::int32_t id) const override {
    return id < kVocabSize ? ByteTokenizer::piece(id) : strings_[static_cast<std::size_t>(id - kVocabSize)];
  }
  std::string decode_bytes(std::int32_t id, bool) const override { return piece(id); }

 private:
  std::vector<std::string> strings_;
};

/// The parts that all matchers of a test share.
inline engine::grammar::MatcherParts matcher_parts(int n_strings = 1500) {
  const StringTokenizer tokenizer(n_strings);
  return {std::make_shared<const engine::grammar::Vocabulary>(tokenizer, tokenizer.vocab_size() + 5),
          std::make_shared<engine::grammar::TokenSetCache>()};
}

/// Requires: the constraint compiles.
inline engine::grammar::Matcher matcher_of(const std::string& constraint, const engine::grammar::MatcherParts& parts) {
  return {engine::grammar::compile_constraint(constraint).value().automaton, parts};
}

/// "where: message" of a constraint that does not compile; empty if it does.
inline std::string refusal_of(const std::string& constraint) {
  const auto made = engine::grammar::compile_constraint(constraint);
  return made ? std::string() : made.error().where + ": " + made.error().message;
}

inline bool begins(const std::string& constraint, std::string_view text) {
  engine::grammar::Matcher matcher = matcher_of(constraint, matcher_parts(0));
  return matcher.accept_bytes(text);
}
inline bool has(const std::string& constraint, std::string_view text) {
  engine::grammar::Matcher matcher = matcher_of(constraint, matcher_parts(0));
  return (text.empty() || matcher.accept_bytes(text)) && matcher.may_end();
}

/// Tokens that a mask allows.
inline std::vector<std::int32_t> tokens_of(const engine::grammar::TokenMask& mask) {
  std::vector<std::int32_t> ids;
  for (std::size_t id = 0; id < mask.words.size() * 64; ++id) {
    if ((mask.words[id / 64] >> (id % 64) & 1) != 0) ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

struct RandomText {
  std::string text;
  bool is_whole = false;  ///< the constraint let it end; else it was cut
  bool is_stuck = false;  ///< nothing could follow, though it was not whole
};

/// An answer of allowed tokens, each as likely as the others; it ends where it may with one chance in four.
inline RandomText random_text(engine::grammar::Matcher matcher, const engine::grammar::MatcherParts& parts,
                              std::uint32_t seed, int max_tokens) {
  std::mt19937 random(seed);
  RandomText out;
  for (int i = 0; i < max_tokens; ++i) {
    const engine::grammar::TokenMask& mask = matcher.mask();
    const std::vector<std::int32_t> ids = tokens_of(mask);
    out.is_whole = mask.may_end && (ids.empty() || random() % 4 == 0);
    out.is_stuck = ids.empty() && !mask.may_end;
    if (out.is_whole || out.is_stuck) return out;
    const std::int32_t token = ids[random() % ids.size()];
    out.text += parts.vocabulary->text_of(token);
    if (!matcher.accept(token)) out.is_stuck = true;
  }
  out.is_whole = matcher.may_end();
  return out;
}

}  // namespace lathe::tests
