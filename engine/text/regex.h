// SPDX-License-Identifier: Apache-2.0
// A regular expression over UTF-8, compiled to machine code by PCRE2, with a bound on backtracking.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/text/added_tokens.h"

namespace lathe::engine {

/// Immutable after compile. Thread: any.
class Regex {
 public:
  /// Errors: model_refused with PCRE2's reason and the offset in the pattern.
  static Result<Regex> compile(const std::string& pattern);

  /// All matches from left to right; empty ones are passed over. Requires: `text` is valid UTF-8.
  /// When the bound on backtracking is met, matching ends there and the rest counts as unmatched.
  void find_all(std::string_view text, std::vector<TextRange>& matches) const;

 private:
  struct Code;
  struct Free {
    void operator()(Code* code) const;
  };
  explicit Regex(std::unique_ptr<Code, Free> code) : code_(std::move(code)) {}

  std::unique_ptr<Code, Free> code_;
};

}  // namespace lathe::engine
