// SPDX-License-Identifier: Apache-2.0
// The words that the patterns of GPT-2, Llama 3 and Qwen 2 cut from ASCII, found without an engine of regular expressions.
#pragma once

#include <cstddef>
#include <string_view>

namespace lathe::engine {

// Source: the pre-tokenizers in tokenizer.json of these checkpoints.
inline constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The end of the match that begins at `at`; 0 where a character beyond ASCII has a say in it: the pattern must be asked.
/// Requires: at < text.size(). Cost: what is read is the match and one byte more.
using AsciiWordEnd = std::size_t (*)(std::string_view text, std::size_t at);

/// Null for every pattern but these.
AsciiWordEnd ascii_splitter_of(std::string_view pattern);

}  // namespace lathe::engine
