// SPDX-License-Identifier: Apache-2.0
#include "engine/text/rank_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/base/base64.h"
#include "engine/base/text_lines.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/tokenizer_assembly.h"
#include "engine/text/tokenizer_base.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/word_patterns.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kMaxRankFileBytes = 64LL << 20;

struct Rank {
  std::string piece;
  std::int32_t id = 0;
};

Result<Rank> read_rank(std::string_view line) {
  const std::size_t blank = line.find(' ');
  Rank rank;
  if (blank != line.npos) {
    const std::string_view number = line.substr(blank + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank.id);
    auto piece = decode_base64(line.substr(0, blank));
    const bool fits = piece && !piece->empty() && piece->size() <= kMaxPieceBytes && rank.id >= 0;
    if (fits && error == std::errc() && end == number.data() + number.size()) {
      rank.piece = std::move(*piece);
      return rank;
    }
  }
  return fail(ErrorCode::model_refused, "must be the bytes of a piece in base64, a space and its rank");
}

Result<void> read_ranks(std::string_view text, TokenizerDescription& description) {
  return for_each_line(text, [&](std::string_view line, std::size_t n) -> Result<void> {
    if (line.empty()) return {};
    auto rank = read_rank(line);
    if (!rank) return fail(ErrorCode::model_refused, rank.error().message, fmt::format("{}: line {}", description.file, n));
    description.vocabulary.emplace_back(alphabet_of_bytes(rank->piece), rank->id);
    return {};
  });
}

/// Constants of a family whose vocabulary is a rank file.
struct RankFamily {
  std::size_t n_ranks;
  std::string_view pattern;
  std::vector<std::string> (*control)();  ///< in the order of their ids, which follow the ranks
  const char *bos, *eos;                  ///< null: no token is added before a text
};

std::vector<std::string> control_of_llama3() {
  constexpr std::size_t kAll = 256;
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|finetune_right_pad_id|>",
                                    "<|step_id|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eom_id|>",
                                    "<|eot_id|>",
                                    "<|python_tag|>",
                                    "<|image|>"};
  for (int i = 2; names.size() < kAll; ++i) names.push_back(fmt::format("<|reserved_special_token_{}|>", i));
  return names;
}

std::vector<std::string> control_of_qwen() {
  constexpr int kExtras = 205;
  std::vector<std::string> names = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  for (int i = 0; i < kExtras; ++i) names.push_back(fmt::format("<|extra_{}|>", i));
  return names;
}

// THE TABLE of families with rank files.
constexpr std::array kFamilies = {
    RankFamily{128'000, "llama-bpe", control_of_llama3, "<|begin_of_text|>", "<|end_of_text|>"},
    RankFamily{151'643, "qwen2", control_of_qwen, nullptr, "<|endoftext|>"},
};

/// Adds the family's control tokens whose ids and names the configuration does not use.
void add_control(const RankFamily& family, const TokenizerConfig& config, TokenizerDescription& description) {
  auto id = static_cast<std::int32_t>(family.n_ranks);
  for (std::string& name : family.control()) {
    const bool configured = std::any_of(config.added_tokens.begin(), config.added_tokens.end(),
                                        [&](const AddedToken& token) { return token.id == id || token.content == name; });
    if (!configured) description.added_tokens.push_back({.id = id, .content = std::move(name), .special = true});
    ++id;
  }
}

void add_bos(const RankFamily& family, TokenizerConfig& config, TokenizerDescription& description) {
  if (!config.eos_token) config.eos_token = family.eos;
  if (family.bos == nullptr) return;
  if (!config.bos_token) config.bos_token = family.bos;
  description.post_processor = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", *config.bos_token}}}}, {{"Sequence", {{"id", "A"}}}}}}};
}

}  // namespace

bool is_rank_file(std::string_view head) {
  const std::size_t end = head.find('\n');
  return end != head.npos && read_rank(head.substr(0, end)).has_value();
}

Result<std::unique_ptr<Tokenizer>> open_rank_file(const ModelFolder& folder, const std::string& file) {
  LATHE_TRY(const std::string text, folder.read_text(file, kMaxRankFileBytes));
  LATHE_TRY(TokenizerConfig config, read_tokenizer_config(folder));
  TokenizerDescription description;
  description.file = file;
  description.model = Json::object();
  description.merges_by_id = true;
  LATHE_TRY_VOID(read_ranks(text, description));
  const auto* family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                    [&](const RankFamily& known) { return known.n_ranks == description.vocabulary.size(); });
  if (family == kFamilies.end()) {
    return fail(ErrorCode::model_refused,
                fmt::format("{} ranks: only the rank files of Llama 3 (128000) and Qwen (151643) are known; put a "
                            "tokenizer.json into the same folder",
                            description.vocabulary.size()),
                file);
  }
  describe_byte_level(*find_word_pattern(family->pattern), description);
  description.model["ignore_merges"] = true;
  add_control(*family, config, description);
  add_bos(*family, config, description);
  return assemble_tokenizer(description, config);
}

}  // namespace lathe::engine
