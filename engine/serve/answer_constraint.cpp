// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/answer_constraint.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contains.h"
#include "engine/sample/grammar/forced_tokens.h"
#include "engine/text/tool_calls/reasoning_format.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kTailBytes = 128;
constexpr std::size_t kSeamBytes = 32;  // of the text behind which a forced one is encoded
/// Messages of gpt-oss have headers: its answer proper is the message of the final channel.
constexpr std::string_view kHarmony = "openai_gptoss", kFinalMessage = "<|channel|>final<|message|>";

const ReasoningFormat* format_of(const AnswerReading& reading) {
  for (const ReasoningFormat& format : reasoning_formats()) {
    if (format.name == reading.formats.reasoning) return &format;
  }
  return nullptr;
}

}  // namespace

AnswerConstraint::AnswerConstraint(ReadyConstraint constraint, const Tokenizer& tokenizer,
                                   std::span<const std::int32_t> eos_ids, std::span<const std::int32_t> suppressed_ids,
                                   const SamplingParams& params, const AnswerReading* reading)
    : constraint_(std::move(constraint.constraint)),
      was_known_(constraint.was_known),
      tokenizer_(&tokenizer),
      params_(&params),
      matcher_(constraint_.automaton, std::move(constraint.parts)),
      end_ids_(eos_ids.begin(), eos_ids.end()),
      never_forced_(suppressed_ids.begin(), suppressed_ids.end()) {
  never_forced_.insert(never_forced_.end(), eos_ids.begin(), eos_ids.end());
  never_forced_.insert(never_forced_.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
  n_suppressed_ = suppressed_ids.size();
  for (const std::int32_t id : params.stop_token_ids) {
    if (tokenizer.is_special(id) && !contains(end_ids_, id)) end_ids_.push_back(id);
  }
  if (reading != nullptr) choose_beginning(*reading);
  find_forced();
}

void AnswerConstraint::choose_beginning(const AnswerReading& reading) {
  const bool is_harmony =
      reading.formats.reasoning.starts_with("openai") || reading.formats.tool_calls.starts_with("openai");
  if (is_harmony && reading.constrains_calls) return;
  if (is_harmony) {
    is_free_ = !reading.goes_on;
    free_ends_.emplace_back(kFinalMessage);
    return;
  }
  const ReasoningFormat* format = format_of(reading);
  if (format == nullptr || format->name == kHarmony) return;
  for (const std::string_view end : format->ends) {
    if (!end.empty()) free_ends_.emplace_back(end);
  }
  is_free_ = starts_in_reasoning(*format, reading.prompt, reading.goes_on);
  if (is_free_ || reading.goes_on) return;
  for (const std::string_view begin : format->begins) {
    const auto id = begin.empty() ? std::nullopt : tokenizer_->id_of(begin);
    // A prompt that already holds the whole reasoning, empty as it may be, leaves none to begin.
    const bool is_over = std::any_of(free_ends_.begin(), free_ends_.end(),
                                     [&](const std::string& end) { return reading.prompt.rfind(end) != std::string::npos; });
    if (id && !is_over) begin_ids_.push_back(*id);
  }
}

bool AnswerConstraint::is_end_token(std::int32_t token) const { return contains(end_ids_, token); }

const AllowedTokens* AnswerConstraint::allowed() {
  if (is_free_) return nullptr;
  if (has_forced_text()) {
    and_also_.assign(1, forced_[n_forced_taken_]);
    is_stuck_ = false;
    allowed_ = {.words = {}, .and_also = and_also_, .must_end = false};
    return &allowed_;
  }
  const grammar::TokenMask& mask = matcher_.mask();
  and_also_.clear();
  const bool must_end = mask.may_end && !mask.any;
  if (mask.may_end && (!params_->ignore_eos || must_end)) and_also_ = end_ids_;
  if (!has_begun_) and_also_.insert(and_also_.end(), begin_ids_.begin(), begin_ids_.end());
  is_stuck_ = !mask.any && and_also_.empty();
  allowed_ = {.words = mask.words, .and_also = and_also_, .must_end = must_end && and_also_.size() == end_ids_.size()};
  return &allowed_;
}

void AnswerConstraint::accept(std::int32_t token) {
  if (is_free_) return read_free(token);
  if (!has_begun_ && contains(begin_ids_, token)) {
    is_free_ = true;
    has_begun_ = true;
    return;
  }
  has_begun_ = true;
  if (is_end_token(token) && matcher_.may_end()) {
    has_ended_ = true;
    must_end_ = false;
    return;
  }
  matcher_.accept(token);
  add_to_tail(token);
  has_ended_ = end_ids_.empty() && matcher_.must_end();
  const bool was_forced = has_forced_text() && forced_[n_forced_taken_] == token;
  if (was_forced && ++n_forced_taken_ < forced_.size()) return;
  find_forced();
}

std::int32_t AnswerConstraint::forced() const {
  if (has_forced_text()) return forced_[n_forced_taken_];
  return must_end_ ? end_ids_.front() : -1;
}

/// Control tokens and markers are no text that a tokenizer could join with what follows.
void AnswerConstraint::add_to_tail(std::int32_t token) {
  const grammar::Vocabulary& vocabulary = matcher_.vocabulary();
  if (vocabulary.has_own_bytes(token)) return tail_.clear();
  tail_ += vocabulary.text_of(token);
  if (tail_.size() <= kSeamBytes) return;
  tail_.erase(0, tail_.size() - kSeamBytes);
  while (!tail_.empty() && (static_cast<unsigned char>(tail_.front()) & 0xC0) == 0x80) tail_.erase(0, 1);
}

void AnswerConstraint::find_forced() {
  forced_.clear();
  n_forced_taken_ = 0;
  must_end_ = false;
  const bool may_begin_otherwise = !has_begun_ && !begin_ids_.empty();
  if (is_free_ || has_ended_ || may_begin_otherwise) return;
  forced_ = grammar::forced_tokens(matcher_, *tokenizer_, tail_, never_forced_);
  const auto suppressed = std::span(never_forced_).first(n_suppressed_);
  must_end_ = forced_.empty() && end_ids_.size() == 1 && matcher_.must_end() && !contains(suppressed, end_ids_.front());
}

/// The constraint begins behind an end marker, with or without blanks in the marker's last token.
void AnswerConstraint::read_free(std::int32_t token) {
  tail_ += tokenizer_->is_special(token) ? tokenizer_->piece(token) : tokenizer_->decode_bytes(token, false);
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  const std::size_t last = tail_.find_last_not_of(" \t\r\n");
  const std::string_view text = std::string_view(tail_).substr(0, last == tail_.npos ? 0 : last + 1);
  const bool ends =
      std::any_of(free_ends_.begin(), free_ends_.end(), [&](const std::string& end) { return text.ends_with(end); });
  if (!ends) return;
  is_free_ = false;
  has_begun_ = true;
  tail_.clear();
  find_forced();
}

Error AnswerConstraint::stuck_error() const {
  if (matcher_.overflowed()) {
    return {ErrorCode::invalid_argument,
            fmt::format("the grammar reads the answer in more than {} ways; write it so that a text has few",
                        grammar::StateTable::kMaxItems),
            "structured_outputs"};
  }
  return {ErrorCode::invalid_argument,
          "no token of the model's vocabulary can follow what the answer has so far: the vocabulary cannot spell a text "
          "that the constraint allows",
          "structured_outputs"};
}

}  // namespace lathe::engine
