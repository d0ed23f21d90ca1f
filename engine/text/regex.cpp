// SPDX-License-Identifier: Apache-2.0
#include "engine/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <limits>

#include "engine/text/ascii_splitter.h"
#include "engine/text/regex/oniguruma.h"

namespace lathe::engine {
namespace {

// PCRE2 limits the backtracking steps of one start position, not of a whole search, and one step may read the text to its
// end. So a call gets few steps, and few start positions if the text is long. The rare match that needs more is retried with
// four times as many steps while time is left.
constexpr std::uint32_t kFirstLimit = 1024, kLimitGrowth = 4;
// Limit of start positions x steps x bytes: far below a second.
constexpr std::size_t kCallCost = std::size_t{1} << 26, kMostStarts = 4096;
constexpr std::size_t kMaxPatternBytes = 64u << 10;
constexpr std::size_t kJitStackStart = 32u << 10, kJitStackMax = 8u << 20;
constexpr std::uint32_t kHeapKib = 64u << 10;

template <class T, void (*Release)(T*)>
struct Releaser {
  void operator()(T* object) const { Release(object); }
};
using MatchData = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data, pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context, pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Releaser<pcre2_jit_stack, pcre2_jit_stack_free>>;

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
  AsciiWordEnd ascii_end = nullptr;  ///< faster search for a known pattern; it finds most matches
};

void Regex::Free::operator()(Code* code) const {
  pcre2_code_free(code->code);
  delete code;
}

Result<Regex> Regex::compile(const std::string& pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return fail(ErrorCode::model_refused,
                fmt::format("a regular expression of {} bytes, at most {}", pattern.size(), kMaxPatternBytes));
  }
  int error = 0;
  std::size_t offset = 0;
  LATHE_TRY(const std::string spelled, pcre2_of_oniguruma(pattern));
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_USE_OFFSET_LIMIT, &error, &offset, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR text[160];
    pcre2_get_error_message(error, text, sizeof text);
    return fail(ErrorCode::model_refused,
                fmt::format("bad regular expression at offset {}: {}", offset, reinterpret_cast<const char*>(text)));
  }
  std::unique_ptr<Code, Free> owner(new Code{.code = code, .ascii_end = ascii_splitter_of(pattern)});
  owner->jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(owner));
}

struct RegexSearch::Memory {
  MatchData data;
  MatchContext context;
  JitStack stack;
};

RegexSearch::RegexSearch(const Regex& regex, EncodeBudget& budget) : code_(*regex.code_), budget_(budget) {}

/// Allocates the memory of PCRE2, at the first match only: for a short text this would take longer than all the rest.
void RegexSearch::make_memory() {
  memory_ = std::make_unique<Memory>();
  memory_->data.reset(pcre2_match_data_create(1, nullptr));
  memory_->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_heap_limit(memory_->context.get(), kHeapKib);
  if (!code_.jit) return;
  memory_->stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr));
  if (memory_->stack) pcre2_jit_stack_assign(memory_->context.get(), nullptr, memory_->stack.get());
}

RegexSearch::~RegexSearch() = default;

/// Finds the first match that starts at one of the bytes [at, at + n_starts), with `limit` steps for each.
RegexSearch::Outcome RegexSearch::match_at(std::string_view text, std::size_t at, std::size_t n_starts,
                                           std::uint32_t limit) {
  if (!memory_) make_memory();
  pcre2_match_context* context = memory_->context.get();
  pcre2_set_match_limit(context, limit);
  pcre2_set_offset_limit(context, at + n_starts - 1);
  const auto match = code_.jit ? pcre2_jit_match : pcre2_match;
  const std::uint32_t options = code_.jit ? 0 : PCRE2_NO_UTF_CHECK;
  const int result =
      match(code_.code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, options, memory_->data.get(), context);
  if (result >= 0) return Outcome::match;
  if (result == PCRE2_ERROR_NOMATCH) return Outcome::none;
  return result == PCRE2_ERROR_MATCHLIMIT ? Outcome::limit : Outcome::memory;
}

/// Finds the match that starts at `at`, with more and more steps while time is left.
Result<RegexSearch::Outcome> RegexSearch::match_one(std::string_view text, std::size_t at) {
  double left = budget_.seconds_left();
  for (std::uint32_t limit = kFirstLimit;; limit *= kLimitGrowth) {
    const Outcome outcome = match_at(text, at, 1, limit);
    if (outcome != Outcome::limit) return outcome;
    const double left_now = budget_.seconds_left(), used = left - left_now;
    // The next attempt takes kLimitGrowth times longer.
    if (left_now < used * kLimitGrowth || limit > std::numeric_limits<std::uint32_t>::max() / kLimitGrowth) {
      return budget_.out_of_time();
    }
    left = left_now;
  }
}

Result<void> RegexSearch::find_all(std::string_view text, std::vector<TextRange>& matches) {
  const std::size_t n_starts = std::clamp<std::size_t>(kCallCost / kFirstLimit / (text.size() + 1), 1, kMostStarts);
  const auto next_character = [&](std::size_t at) {
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  };
  for (std::size_t at = 0; at < text.size();) {
    LATHE_TRY_VOID(budget_.check_time());
    if (const std::size_t end = code_.ascii_end != nullptr ? code_.ascii_end(text, at) : 0; end != 0) {
      matches.push_back({at, end});
      at = end;
      continue;
    }
    std::size_t n_tried = n_starts;
    Outcome outcome = match_at(text, at, n_starts, kFirstLimit);
    if (outcome == Outcome::limit) {
      n_tried = 1;
      LATHE_TRY(outcome, match_one(text, at));
    }
    if (outcome == Outcome::memory) {
      return fail(ErrorCode::too_large, fmt::format("a pattern of the tokenizer needs too much memory at byte {}", at),
                  "tokenizer.json: pre_tokenizer");
    }
    const std::size_t* found = pcre2_get_ovector_pointer(memory_->data.get());
    if (outcome == Outcome::none) {
      at = next_character(at + n_tried);
    } else if (found[1] <= found[0]) {
      at = next_character(std::max(at, found[1]) + 1);
    } else {
      matches.push_back({found[0], found[1]});
      at = found[1];
    }
  }
  return {};
}

}  // namespace lathe::engine
