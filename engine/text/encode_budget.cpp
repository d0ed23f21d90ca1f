// SPDX-License-Identifier: Apache-2.0
#include "engine/text/encode_budget.h"

#include <fmt/format.h>

#include <ctime>

namespace lathe::engine {
namespace {

// Real tokenizers take 0.1 to 0.5 us a byte; the rest is a margin for slow machines and sanitizers.
constexpr double kSeconds = 1, kSecondsPerByte = 10e-6;
// A character becomes at most 11 times longer under NFKC; a prefix may be added to every word.
constexpr std::size_t kGrowth = 64, kSpareBytes = 64u << 10;
// ICU and PCRE2 count in 32 bits.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr unsigned kCallsPerLook = 128;

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

EncodeBudget::EncodeBudget(std::size_t text_bytes)
    : text_bytes_(text_bytes),
      max_bytes_(text_bytes < kMostBytes / kGrowth ? text_bytes * kGrowth + kSpareBytes : kMostBytes),
      seconds_(kSeconds + kSecondsPerByte * static_cast<double>(text_bytes)),
      end_(thread_seconds() + seconds_) {}

Result<void> EncodeBudget::check_bytes(std::size_t n) const {
  if (n <= max_bytes_) return {};
  return fail(
      ErrorCode::too_large,
      fmt::format("a text of {} bytes grows to {} bytes or more in the tokenizer, but at most {} are allowed; shorten it",
                  text_bytes_, n, max_bytes_),
      "tokenizer.json: normalizer");
}

Result<void> EncodeBudget::check_time() {
  if (++n_calls_ % kCallsPerLook != 0 || seconds_left() > 0) return {};
  return out_of_time();
}

double EncodeBudget::seconds_left() const { return end_ - thread_seconds(); }

tl::unexpected<Error> EncodeBudget::out_of_time() const {
  return fail(ErrorCode::too_large,
              fmt::format("the tokenizer's rules are too expensive for this text of {} bytes: more than {:.1f} s; shorten "
                          "the text, or use another tokenizer",
                          text_bytes_, seconds_),
              "tokenizer");
}

}  // namespace lathe::engine
