// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_ends.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

namespace lathe::engine {
namespace {

constexpr std::string_view kEos = "tokenizer.ggml.eos_token_id", kEot = "tokenizer.ggml.eot_token_id",
                           kEom = "tokenizer.ggml.eom_token_id";
/// A list, which ollama writes and reads.
constexpr std::string_view kEosList = "tokenizer.ggml.eos_token_ids";
/// The first two end a turn and a message; the others end a gap that a fill-in-the-middle model fills.
constexpr std::array<std::string_view, 5> kOthers = {kEot, kEom, "tokenizer.ggml.fim_pad_token_id",
                                                     "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"};

/// A token that ends an answer wherever a vocabulary has it.
struct EndToken {
  std::string_view text;
  bool is_markup = false;  ///< HTML in some vocabularies: an end only if the file types it as a control token
};
// Source: llama.cpp, llama-vocab.cpp, special_eog_ids, limited to supported families.
constexpr EndToken kEndTokens[] = {
    {"<|eot_id|>"},
    {"<|eom_id|>"},
    {"<|im_end|>"},
    {"<|end|>"},
    {"<end_of_turn>"},
    {"<|return|>"},
    {"<|call|>"},
    {"<|endoftext|>"},
    {"<EOT>"},
    {"_<EOT>"},
    {"[EOT]"},
    {"[EOS]"},
    {"<|end_of_text|>"},
    {"<end_of_utterance>"},
    {"<eos>", true},
    {"</s>", true},
    {"<|fim_pad|>"},
    {"<|repo_name|>"},
    {"<|file_sep|>"},
    {"<\xEF\xBD\x9C"
     "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"},
};
constexpr std::int64_t kControl = 3;  // a value of tokenizer.ggml.token_type

const EndToken* find_end(std::string_view text) {
  const auto* const found =
      std::find_if(std::begin(kEndTokens), std::end(kEndTokens), [&](const EndToken& end) { return end.text == text; });
  return found == std::end(kEndTokens) ? nullptr : found;
}

/// Adds to `ids` the ids of tokens whose text is known to end an answer.
Result<std::set<std::int64_t>> with_known_ends(const GgufHeader& header, std::span<const std::string_view> tokens,
                                               std::set<std::int64_t> ids) {
  LATHE_TRY(const auto types, header.integers("tokenizer.ggml.token_type"));
  std::int64_t end_of_part = -1;
  bool has_return = false, has_call = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const EndToken* const end = find_end(tokens[i]);
    if (end == nullptr || (end->is_markup && i < types.size() && types[i] != kControl)) continue;
    const auto id = static_cast<std::int64_t>(i);
    ids.insert(id);
    has_return = has_return || end->text == "<|return|>";
    has_call = has_call || end->text == "<|call|>";
    if (end->text == "<|end|>") end_of_part = id;
  }
  // gpt-oss: <|end|> ends the reasoning, and the answer continues after it.
  if (has_return && has_call) ids.erase(end_of_part);
  return ids;
}

}  // namespace

Result<std::vector<std::int32_t>> read_gguf_ends(const GgufHeader& header) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::set<std::int64_t> ids;
  for (const std::string_view key : kOthers) {
    LATHE_TRY(const auto id, header.integer(key));
    if (id) ids.insert(*id);
  }
  LATHE_TRY(const auto listed, header.integers(kEosList));
  ids.insert(listed.begin(), listed.end());
  LATHE_TRY(const auto tokens, header.text_views("tokenizer.ggml.tokens"));
  LATHE_TRY(ids, with_known_ends(header, tokens, std::move(ids)));
  const std::int64_t n_ids = tokens.empty() ? kMost : static_cast<std::int64_t>(tokens.size());
  std::vector<std::int32_t> ends;
  LATHE_TRY(const auto eos, header.integer(kEos));
  if (eos) ends.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(*eos, -1, kMost)));
  for (const std::int64_t id : ids) {
    if (id >= 0 && id < n_ids && id != eos) ends.push_back(static_cast<std::int32_t>(id));
  }
  return ends;
}

void write_gguf_ends(std::optional<std::int32_t> eos, std::span<const std::int32_t> ends, GgufMetadata& metadata) {
  std::set<std::int32_t> others(ends.begin(), ends.end());
  if (!eos && !others.empty()) eos = *others.begin();
  if (!eos) return;
  others.erase(*eos);
  metadata.set_whole(kEos, static_cast<std::uint32_t>(*eos));
  if (others.empty()) return;
  auto next = others.begin();
  for (const std::string_view key : {kEot, kEom}) {
    if (next != others.end()) metadata.set_whole(key, static_cast<std::uint32_t>(*next++));
  }
  std::vector<std::int32_t> all = {*eos};
  all.insert(all.end(), others.begin(), others.end());
  metadata.set_integers(kEosList, all);
}

}  // namespace lathe::engine
