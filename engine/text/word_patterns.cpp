// SPDX-License-Identifier: Apache-2.0
#include "engine/text/word_patterns.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/text/ascii_splitter.h"

namespace lathe::engine {
namespace {

using Expressions = std::span<const std::string_view>;

// Source: the pre-tokenizers in tokenizer.json of the checkpoints with these names.
constexpr std::string_view kGpt2[] = {kGpt2Words};
constexpr std::string_view kLlama3[] = {kLlama3Words};
constexpr std::string_view kQwen2[] = {kQwen2Words};
// Uppercase and lowercase letters, as the checkpoint lists them.
constexpr std::string_view kDeepSeekLetters =
    R"(\s?[\x{41}-\x{5a}\x{61}-\x{7a}\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd})"
    R"(\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15})"
    R"(\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d})"
    R"(\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb})"
    R"(\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d})"
    R"(\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e})"
    R"(\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
    R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06})"
    R"(\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb})"
    R"(\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)";
constexpr std::string_view kDeepSeek[] = {
    R"([\r\n])",
    kDeepSeekLetters,
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
    R"(\s+$)",
    R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
    R"(\p{N}+)"};
constexpr std::string_view kDeepSeekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                               R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N})"};
constexpr std::string_view kDeepSeekV3[] = {R"(\p{N}{1,3})", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
                                            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
                                            "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                                            "| ?[\\p{P}\\p{S}]+[\r\n]*"
                                            "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"};
constexpr std::string_view kDigitsThenGpt2[] = {R"(\p{N})", kGpt2[0]};
// A word that begins with uppercase letters ends after its lowercase letters, and includes an English contraction.
constexpr std::string_view kGpt4o[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
// Marks belong to words.
constexpr std::string_view kQwen35[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kTekken[] = {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                        R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                        R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
// Letters with their marks, and spaces between marked letters, make one word.
constexpr std::string_view kExaoneMoe[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::string_view kSeedCoder[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"};
// Expressions for pre-tokenizers of tokenizer.json that are not Split; llama.cpp (llama-vocab.cpp) has the same.
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kPunctuationRun = R"([\p{P}\$\+<=>\^~\|`]+)", kDigitRun = R"(\p{N}+)";
constexpr std::string_view kFalcon[] = {kPunctuationRun, kGpt2[0], kDigitRun, kThreeDigits};
constexpr std::string_view kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2[0], kDigitRun, kThreeDigits};
constexpr std::string_view kBloomWords = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+";
constexpr std::string_view kBloom[] = {kBloomWords};
constexpr std::string_view kViking[] = {kBloomWords, R"(\p{N})"};

// THE TABLE of patterns. Converters write "default" for a pre-tokenizer that they do not recognize; llama.cpp reads that
// name as the row does here.
constexpr std::array kWordPatterns = {
    WordPattern{.name = "gpt-2", .expressions = kGpt2},
    WordPattern{.name = "phi-2", .expressions = kGpt2},
    WordPattern{.name = "mpt", .expressions = kGpt2},
    WordPattern{.name = "olmo", .expressions = kGpt2},
    WordPattern{.name = "exaone4", .expressions = kGpt2},
    WordPattern{.name = "jais", .expressions = kGpt2},
    WordPattern{.name = "gigachat", .expressions = kGpt2},
    WordPattern{.name = "mellum", .expressions = kGpt2},
    WordPattern{.name = "trillion", .expressions = kGpt2},
    WordPattern{.name = "llama-bpe", .expressions = kLlama3, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "llama3", .expressions = kLlama3, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "llama-v3", .expressions = kLlama3, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "lfm2", .expressions = kLlama3, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "falcon3", .expressions = kLlama3, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "pixtral", .expressions = kLlama3, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "dbrx", .expressions = kLlama3},
    WordPattern{.name = "smaug-bpe", .expressions = kLlama3},
    WordPattern{.name = "glm4", .expressions = kLlama3},
    WordPattern{.name = "chatglm-bpe", .expressions = kLlama3},
    WordPattern{.name = "qwen2", .expressions = kQwen2, .nfc = true},
    WordPattern{.name = "qwen35", .expressions = kQwen35, .nfc = true},
    WordPattern{.name = "deepseek-r1-qwen", .expressions = kQwen2, .nfc = true},
    WordPattern{.name = "stablelm2", .expressions = kQwen2, .nfc = true},
    WordPattern{.name = "gpt-4o", .expressions = kGpt4o},
    WordPattern{.name = "llama4", .expressions = kGpt4o},
    WordPattern{.name = "tekken", .expressions = kTekken, .ignore_merges = true, .adds_bos = true},
    WordPattern{.name = "deepseek-llm", .expressions = kDeepSeek},
    WordPattern{.name = "deepseek-coder", .expressions = kDeepSeekCoder},
    WordPattern{.name = "deepseek-v3", .expressions = kDeepSeekV3},
    WordPattern{.name = "minimax-m2", .expressions = kGpt4o},
    WordPattern{.name = "hunyuan", .expressions = kQwen2},
    WordPattern{.name = "hunyuan-dense", .expressions = kDeepSeekV3},
    WordPattern{.name = "exaone-moe", .expressions = kExaoneMoe},
    WordPattern{.name = "starcoder", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "refact", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "smollm", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "codeshell", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "exaone", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "minerva-7b", .expressions = kDigitsThenGpt2},
    WordPattern{.name = "command-r", .expressions = kDigitsThenGpt2, .nfc = true},
    WordPattern{.name = "seed-coder", .expressions = kSeedCoder},
    WordPattern{.name = "falcon", .expressions = kFalcon},
    WordPattern{.name = "bloom", .expressions = kBloom},
    WordPattern{.name = "gpt3-finnish", .expressions = kBloom},
    WordPattern{.name = "poro-chat", .expressions = kBloom},
    WordPattern{.name = "viking", .expressions = kViking},
    WordPattern{.name = "default", .expressions = kDefault},
};

Json split_by(std::string_view expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

/// Returns the expressions of a pre-tokenizer that only cuts by expressions, in their order; nothing for any other.
std::optional<std::vector<std::string>> expressions_of(const Json& pre_tokenizer) {
  if (!pre_tokenizer.is_object()) return std::nullopt;
  const std::string type = pre_tokenizer.value("type", "");
  if (type == "Sequence") {
    std::vector<std::string> all;
    for (const Json& part : pre_tokenizer.value("pretokenizers", Json::array())) {
      const auto expressions = expressions_of(part);
      if (!expressions) return std::nullopt;
      all.insert(all.end(), expressions->begin(), expressions->end());
    }
    return all;
  }
  if (type == "Split") {
    const Json pattern = pre_tokenizer.value("pattern", Json::object());
    const bool is_usual = pre_tokenizer.value("behavior", "") == "Isolated" && !pre_tokenizer.value("invert", false);
    if (!is_usual || !pattern.contains("Regex")) return std::nullopt;
    return std::vector{pattern["Regex"].get<std::string>()};
  }
  if (type == "Digits") {
    return std::vector{std::string(pre_tokenizer.value("individual_digits", false) ? kDigitsThenGpt2[0] : kDigitRun)};
  }
  if (type == "Punctuation" && pre_tokenizer.value("behavior", "") == "Contiguous") {
    return std::vector{std::string(kPunctuationRun)};
  }
  if (type == "ByteLevel" && !pre_tokenizer.value("add_prefix_space", true)) {
    if (!pre_tokenizer.value("use_regex", true)) return std::vector<std::string>();
    return std::vector{std::string(kGpt2[0])};
  }
  return std::nullopt;
}

}  // namespace

const WordPattern* find_word_pattern(const TokenizerDescription& description) {
  const auto expressions = expressions_of(description.pre_tokenizer);
  const Json& normalizer = description.normalizer;
  const bool nfc = normalizer.is_object() && normalizer.value("type", "") == "NFC";
  if (!expressions || (!normalizer.is_null() && !nfc)) return nullptr;
  for (const WordPattern& pattern : kWordPatterns) {
    const bool is_same =
        std::equal(pattern.expressions.begin(), pattern.expressions.end(), expressions->begin(), expressions->end()) &&
        pattern.nfc == nfc && pattern.ignore_merges == description.model.value("ignore_merges", false);
    if (is_same) return &pattern;
  }
  return nullptr;
}

const WordPattern* find_word_pattern(std::string_view name) {
  const auto* found = std::find_if(kWordPatterns.begin(), kWordPatterns.end(),
                                   [&](const WordPattern& pattern) { return pattern.name == name; });
  return found == kWordPatterns.end() ? nullptr : found;
}

std::string known_word_patterns() {
  std::string names;
  for (const WordPattern& pattern : kWordPatterns) names.append(names.empty() ? "" : ", ").append(pattern.name);
  return names;
}

void describe_byte_level(const WordPattern& pattern, TokenizerDescription& description) {
  Json parts = Json::array();
  for (const std::string_view expression : pattern.expressions) parts.push_back(split_by(expression));
  parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  description.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
  description.normalizer = pattern.nfc ? Json{{"type", "NFC"}} : Json();
  description.decoder = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  description.model["type"] = "BPE";
  description.model["ignore_merges"] = pattern.ignore_merges;
}

}  // namespace lathe::engine
