// SPDX-License-Identifier: Apache-2.0
#include "engine/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace lathe::engine {
namespace {

// A pre-tokenizer needs a few dozen steps a match; patterns made to explode meet this in some milliseconds.
constexpr std::uint32_t kMatchLimit = 1'000'000;
constexpr std::size_t kJitStackStart = 32 * 1024, kJitStackMax = 1024 * 1024;

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
};

void Regex::Free::operator()(Code* code) const {
  pcre2_code_free(code->code);
  delete code;
}

Result<Regex> Regex::compile(const std::string& pattern) {
  int error = 0;
  std::size_t offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                   &error, &offset, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR text[160];
    pcre2_get_error_message(error, text, sizeof text);
    return fail(ErrorCode::model_refused,
                fmt::format("bad regular expression at offset {}: {}", offset, reinterpret_cast<const char*>(text)));
  }
  std::unique_ptr<Code, Free> owner(new Code{.code = code});
  owner->jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(owner));
}

void Regex::find_all(std::string_view text, std::vector<TextRange>& matches) const {
  const MatchData data(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMatchLimit);
  const JitStack stack(code_->jit ? pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr) : nullptr);
  if (stack) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());

  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto match = code_->jit ? pcre2_jit_match : pcre2_match;
  const std::uint32_t options = code_->jit ? 0 : PCRE2_NO_UTF_CHECK;
  const std::size_t* found = pcre2_get_ovector_pointer(data.get());
  for (std::size_t at = 0; at < text.size();) {
    const int result = match(code_->code, subject, text.size(), at, options, data.get(), context.get());
    if (result < 0) return;  // no further match, or the bound
    if (found[1] <= found[0]) {
      at = std::max(at, found[1]) + 1;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
      continue;
    }
    matches.push_back({found[0], found[1]});
    at = found[1];
  }
}

}  // namespace lathe::engine
