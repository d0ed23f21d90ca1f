// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/use_constraint.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/base/utf8.h"
#include "engine/sample/grammar/forced_tokens.h"
#include "engine/sample/grammar/structured_outputs.h"
#include "tests/fuzz/dice.h"

namespace lathe::fuzz {
namespace {

using engine::grammar::Matcher;
using engine::grammar::TokenMask;

/// The bytes, two control tokens, and a few strings that overlap.
class PieceTokenizer final : public engine::Tokenizer {
 public:
  static constexpr std::int32_t kFirstControl = 256, kFirstPiece = 258;
  static constexpr std::array<std::string_view, 14> kPieces = {"{\"", "\":", "\": ", "ab",  "abc", "bc\"", "\",",
                                                               "\"}", "00",  "01-",  "tru", "rue", "  ",   "\xC3\xA9"};

  std::string_view kind() const override { return "pieces"; }
  std::int32_t vocab_size() const override { return kFirstPiece + static_cast<std::int32_t>(kPieces.size()); }
  std::optional<std::int32_t> bos_id() const override { return std::nullopt; }
  const std::vector<std::int32_t>& eos_ids() const override { return eos_ids_; }
  bool adds_bos() const override { return false; }
  bool is_special(std::int32_t id) const override { return id >= kFirstControl && id < kFirstPiece; }
  std::optional<std::int32_t> id_of(std::string_view) const override { return std::nullopt; }
  std::string piece(std::int32_t id) const override {
    if (id < kFirstControl) return {static_cast<char>(id)};
    return is_special(id) ? "<>" : std::string(kPieces[static_cast<std::size_t>(id - kFirstPiece)]);
  }
  std::string decode_bytes(std::int32_t id, bool) const override { return piece(id); }
  /// The longest piece at each byte.
  engine::Result<std::vector<std::int32_t>> encode(std::string_view text, bool, bool) const override {
    std::vector<std::int32_t> ids;
    while (!text.empty()) {
      auto id = static_cast<std::int32_t>(static_cast<unsigned char>(text.front()));
      std::size_t size = 1;
      for (std::size_t i = 0; i < kPieces.size(); ++i) {
        if (kPieces[i].size() <= size || !text.starts_with(kPieces[i])) continue;
        id = kFirstPiece + static_cast<std::int32_t>(i);
        size = kPieces[i].size();
      }
      ids.push_back(id);
      text.remove_prefix(size);
    }
    return ids;
  }
  engine::Result<std::vector<std::int32_t>> encode_spans(std::span<const engine::TextSpan>) const override {
    return std::vector<std::int32_t>();
  }
  std::string decode(std::span<const std::int32_t>, bool) const override { return {}; }

 private:
  std::vector<std::int32_t> eos_ids_{kFirstControl};
};

std::vector<std::int32_t> tokens_in(const TokenMask& mask) {
  std::vector<std::int32_t> ids;
  for (std::size_t id = 0; id < mask.words.size() * 64; ++id) {
    if ((mask.words[id / 64] >> (id % 64) & 1) != 0) ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

void require(bool holds) {
  if (!holds) std::abort();
}

/// One answer of at most so many tokens.
void walk(Matcher matcher, const PieceTokenizer& tokenizer, std::uint32_t seed, bool is_spellable) {
  constexpr int kTokens = 24;
  Dice dice(seed);
  std::string text;
  for (int i = 0; i < kTokens; ++i) {
    const TokenMask& mask = matcher.mask();
    const auto words = mask.words;
    const auto allowed = tokens_in(mask);
    if (matcher.overflowed()) return;
    if (allowed.empty()) return require(mask.may_end || !is_spellable);
    const auto forced = forced_tokens(matcher, tokenizer, text, {});
    const std::int32_t token = forced.empty() ? allowed[dice.below(allowed.size())] : forced.front();
    require((words[static_cast<std::size_t>(token) / 64] >> (static_cast<std::size_t>(token) % 64) & 1) != 0);
    require(matcher.accept(token) || matcher.overflowed());
    if (matcher.n_kept() > 0 && dice.one_in(4)) {
      matcher.rollback(1);
      require(matcher.mask().words == words);
      require(matcher.accept(token));
    }
    text += matcher.vocabulary().text_of(token);
  }
}

}  // namespace

void use_constraint(std::string_view member, std::string_view text, bool is_spellable) {
  static const PieceTokenizer tokenizer;
  static const auto vocabulary = std::make_shared<const engine::grammar::Vocabulary>(tokenizer, tokenizer.vocab_size());
  engine::grammar::GrammarLimits limits;
  limits.max_nodes = 20'000;
  limits.max_time = std::chrono::milliseconds(60'000);  // an input gives the same on a busy machine
  const engine::Json constraint{{member, engine::is_valid_utf8(text) ? std::string(text) : engine::repaired_utf8(text)}};
  const auto compiled = engine::grammar::compile_constraint(engine::dump_json(constraint), limits);
  if (!compiled) return;
  // The cache is new for each input, so that an input gives the same after any others.
  const Matcher matcher(compiled->automaton, {vocabulary, std::make_shared<engine::grammar::TokenSetCache>()});
  for (std::uint32_t seed = 0; seed < 2; ++seed) walk(matcher, tokenizer, seed, is_spellable);
}

}  // namespace lathe::fuzz
