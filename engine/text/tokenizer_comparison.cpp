// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_comparison.h"

#include <array>
#include <string>

namespace lathe::engine {
namespace {

/// Samples that both tokenizers encode: words, cases, digits, scripts, blanks, line ends, signs.
constexpr std::array<std::string_view, 7> kSamples = {
    "Hello, World! It's 3.14159 and 1,000,000 more; don't you THINK so?",
    "  two blanks, \ttab\n\nlines\r\n  indented {\"json\": [1, 22, 333]}",
    "Stra\u00dfe caf\u00e9 na\u00efve e\u0301 \u00c5ngstr\u00f6m",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u4f60\u597d\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \uc548\ub155 "
    "\u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947",
    "\U0001F600\U0001F468\u200D\U0001F469\u200D\U0001F467 \u2192 \u2026 \u00bd",
    "def f(x):\n    return x ** 2  # ====\n",
    "",
};

}  // namespace

Result<std::optional<std::string_view>> differing_sample(const Tokenizer& written, const Tokenizer& meant) {
  for (const std::string_view sample : kSamples) {
    LATHE_TRY(const auto wanted, meant.encode(sample, true, true));
    LATHE_TRY(const auto got, written.encode(sample, true, true));
    if (got != wanted) return std::optional(sample);
  }
  return std::optional<std::string_view>();
}

Result<bool> adds_space_behind(const Tokenizer& written, const Tokenizer& meant, std::string_view special_token) {
  const std::string begin = "Hello" + std::string(special_token);
  LATHE_TRY(const auto wanted, meant.encode(begin + "Hello", false, true));
  // U+2581 represents the space, because sentencepiece models may drop a space there.
  LATHE_TRY(const auto with_space, meant.encode(begin + "\u2581Hello", false, true));
  LATHE_TRY(const auto got, written.encode(begin + "Hello", false, true));
  return got != wanted && got == with_space;
}

}  // namespace lathe::engine
