// SPDX-License-Identifier: Apache-2.0
#include "engine/text/word_patterns.h"

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

using Expressions = std::span<const std::string_view>;

// Source: the pre-tokenizers in tokenizer.json of the checkpoints that the names stand for.
constexpr std::string_view kGpt2[] = {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kLlama3[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kQwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kDeepSeek[] = {
    "[\r\n]",
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-"
    "ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
    "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$", "[一-龥ࠀ-一가-퟿]+", "\\p{N}+"};
constexpr std::string_view kDigitsThenGpt2[] = {R"(\p{N})", kGpt2[0]};

// THE TABLE of ways to cut words.
constexpr std::array kPatterns = {
    WordPattern{.name = "gpt-2", .expressions = kGpt2},
    WordPattern{.name = "mpt", .expressions = kGpt2},
    WordPattern{.name = "olmo", .expressions = kGpt2},
    WordPattern{.name = "llama-bpe", .expressions = kLlama3, .ignore_merges = true},
    WordPattern{.name = "llama3", .expressions = kLlama3, .ignore_merges = true},
    WordPattern{.name = "llama-v3", .expressions = kLlama3, .ignore_merges = true},
    WordPattern{.name = "dbrx", .expressions = kLlama3},
    WordPattern{.name = "smaug-bpe", .expressions = kLlama3},
    WordPattern{.name = "qwen2", .expressions = kQwen2, .nfc = true},
    WordPattern{.name = "deepseek-r1-qwen", .expressions = kQwen2, .nfc = true},
    WordPattern{.name = "stablelm2", .expressions = kQwen2, .nfc = true},
    WordPattern{.name = "deepseek-llm", .expressions = kDeepSeek},
    WordPattern{.name = "starcoder", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "refact", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "smollm", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "command-r", .expressions = kDigitsThenGpt2, .nfc = true},
};

Json split_by(std::string_view expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

}  // namespace

const WordPattern* find_word_pattern(std::string_view name) {
  const auto* found =
      std::find_if(kPatterns.begin(), kPatterns.end(), [&](const WordPattern& pattern) { return pattern.name == name; });
  return found == kPatterns.end() ? nullptr : found;
}

std::string known_word_patterns() {
  std::string names;
  for (const WordPattern& pattern : kPatterns) names.append(names.empty() ? "" : ", ").append(pattern.name);
  return names;
}

void describe_byte_level(const WordPattern& pattern, TokenizerDescription& description) {
  Json parts = Json::array();
  for (const std::string_view expression : pattern.expressions) parts.push_back(split_by(expression));
  parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  description.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
  description.normalizer = pattern.nfc ? Json{{"type", "NFC"}} : Json();
  description.decoder = {{"type", "ByteLevel"}};
  description.model["type"] = "BPE";
  description.model["ignore_merges"] = pattern.ignore_merges;
}

}  // namespace lathe::engine
