// SPDX-License-Identifier: Apache-2.0
// Regex: a regular expression over UTF-8, compiled to machine code by PCRE2, with a bound on backtracking.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/text/added_tokens.h"
#include "engine/text/encode_budget.h"

namespace lathe::engine {

/// Immutable after compile. Thread: any.
class Regex {
 public:
  /// Errors: model_refused with PCRE2's reason and the offset in the pattern.
  static Result<Regex> compile(const std::string& pattern);

 private:
  friend class RegexSearch;
  struct Code;
  struct Free {
    void operator()(Code* code) const;
  };
  explicit Regex(std::unique_ptr<Code, Free> code) : code_(std::move(code)) {}

  std::unique_ptr<Code, Free> code_;
};

/// RegexSearch: searches with one expression in any number of texts, and the memory for it. Thread: one.
class RegexSearch {
 public:
  /// Requires: `regex` and `budget` outlive the search.
  RegexSearch(const Regex& regex, EncodeBudget& budget);
  ~RegexSearch();
  RegexSearch(const RegexSearch&) = delete;
  RegexSearch& operator=(const RegexSearch&) = delete;

  /// Appends all matches from left to right; empty matches are skipped. Requires: `text` is valid UTF-8.
  /// Errors: too_large when the budget is spent before the end of the text, or a match takes too much memory.
  Result<void> find_all(std::string_view text, std::vector<TextRange>& matches);

 private:
  enum class Outcome : std::uint8_t { match, none, limit, memory };
  struct Memory;

  void make_memory();
  Outcome match_at(std::string_view text, std::size_t at, std::size_t n_starts, std::uint32_t limit);
  Result<Outcome> match_one(std::string_view text, std::size_t at);

  const Regex::Code& code_;
  EncodeBudget& budget_;
  std::unique_ptr<Memory> memory_;  ///< null until the first match by PCRE2
};

}  // namespace lathe::engine
