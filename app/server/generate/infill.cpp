// SPDX-License-Identifier: Apache-2.0
// Sources: tokenizers of Qwen2.5-Coder, StarCoder, DeepSeek-Coder, Code Llama, CodeGemma and Codestral; "Efficient Training
// of Language Models to Fill in the Middle" (arXiv:2207.14255), which names the orders PSM and SPM.
#include "app/server/generate/infill.h"

#include <array>
#include <optional>

namespace lathe::app {
namespace {

using Ids = std::vector<std::int32_t>;

/// The tokens before the prefix, before the suffix and before the middle.
struct InfillTokens {
  std::string_view prefix, suffix, middle;
  bool suffix_first = false;  ///< order SPM, without a token before the middle
};

// THE TABLE of the tokens for filling in the middle.
constexpr std::array kInfillTokens = {
    InfillTokens{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    InfillTokens{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    InfillTokens{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    InfillTokens{"<|fim▁begin|>", "<|fim▁hole|>", "<|fim▁end|>"},
    InfillTokens{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    InfillTokens{"▁<PRE>", "▁<SUF>", "▁<MID>"},
    InfillTokens{"[PREFIX]", "[SUFFIX]", {}, true},
};

struct InfillIds {
  std::int32_t prefix = 0, suffix = 0;
  std::optional<std::int32_t> middle;
};

std::optional<InfillIds> find_infill(const engine::Tokenizer& tokenizer) {
  for (const InfillTokens& row : kInfillTokens) {
    const auto prefix = tokenizer.id_of(row.prefix), suffix = tokenizer.id_of(row.suffix);
    const auto middle = row.suffix_first ? std::nullopt : tokenizer.id_of(row.middle);
    if (prefix && suffix && (middle || row.suffix_first)) return InfillIds{*prefix, *suffix, middle};
  }
  return std::nullopt;
}

void append(Ids& to, const Ids& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

bool can_infill(const engine::Tokenizer& tokenizer) { return find_infill(tokenizer).has_value(); }

engine::Result<Ids> encode_infill(const engine::Tokenizer& tokenizer, std::string_view before, std::string_view after,
                                  bool add_special) {
  const auto tokens = find_infill(tokenizer);
  if (!tokens) {
    return engine::fail(engine::ErrorCode::invalid_argument,
                        "this model's vocabulary has no tokens for filling in the middle; send the request without a suffix",
                        "suffix");
  }
  LATHE_TRY(const Ids prefix, tokenizer.encode(before, false, true));
  LATHE_TRY(const Ids suffix, tokenizer.encode(after, false, true));
  Ids ids;
  if (add_special && tokenizer.adds_bos() && tokenizer.bos_id()) ids.push_back(*tokenizer.bos_id());
  if (!tokens->middle) {
    ids.push_back(tokens->suffix);
    append(ids, suffix);
  }
  ids.push_back(tokens->prefix);
  append(ids, prefix);
  if (!tokens->middle) return ids;
  ids.push_back(tokens->suffix);
  append(ids, suffix);
  ids.push_back(*tokens->middle);
  return ids;
}

}  // namespace lathe::app
