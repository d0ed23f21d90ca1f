// SPDX-License-Identifier: Apache-2.0
// Splitters for ASCII text: they find the words that the patterns of GPT-2, Llama 3 and Qwen 2 cut, without an engine of
// regular expressions.
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

/// Returns the end of the match that begins at `at`, or 0 if a character beyond ASCII may decide where the match ends: then
/// the caller must use the pattern. Requires: at < text.size(). Cost: reads the match and one more byte.
using AsciiWordEnd = std::size_t (*)(std::string_view text, std::size_t at);

/// Returns the splitter of `pattern`; null for all but the three patterns above.
AsciiWordEnd ascii_splitter_of(std::string_view pattern);

}  // namespace lathe::engine
