// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/generation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/contains.h"
#include "engine/model/rope_config.h"

namespace lathe::engine {
namespace {

/// Bounds from 10 us to 100 s in steps of 5 %: quantiles of a request's inter-token latency are exact to a few percent.
constexpr auto kItlBoundsMs = [] {
  std::array<double, 331> bounds{};
  double bound = 0.01;
  for (double& place : bounds) {
    place = bound;
    bound *= 1.05;
  }
  return bounds;
}();

/// Tokens between two updates of a running answer's quantiles. People only glance at them, and an update with every token
/// would cost more than the token's event.
constexpr int kTokensAQuantile = 16;

std::int64_t total_tokens(const GenerateRequest& request, std::int64_t context) {
  if (request.pooling) return std::ssize(request.prompt_token_ids);
  if (request.sampling.max_tokens == 0) return context;
  return std::min(static_cast<std::int64_t>(request.prompt_token_ids.size()) + request.sampling.max_tokens, context);
}

/// The parser that separates content for stop strings; null: all text is content, or there are no stop strings.
std::unique_ptr<AnswerParser> content_of(const AnswerReading* reading, const SamplingParams& params) {
  if (reading == nullptr || params.stop.empty()) return nullptr;
  auto made = make_answer_parser(*reading, stops_of(params));
  return made ? std::move(*made) : nullptr;
}

}  // namespace

Generation::Generation(GenerateRequest&& request, RequestHandlePtr caller, const Tokenizer& tokenizer,
                       std::uint64_t drawn_seed, std::int64_t context, int block_size, std::int64_t now_ns)
    : handle(std::move(caller)),
      max_total_tokens(total_tokens(request, context)),
      params(std::move(request.sampling)),
      counts_prompt(request.counts_prompt),
      counts_output(request.counts_output),
      source(std::move(request.source)),
      seed(params.seed.value_or(drawn_seed)),
      pooling(request.pooling),
      reading(std::move(request.reading)),
      content(content_of(reading.get(), params)),
      detokenizer(tokenizer, content ? std::span<const std::string>() : params.stop, params.include_stop_str_in_output,
                  params.skip_special_tokens, reading ? reading->markers : std::span<const AnswerMarker>()),
      submitted_ns(now_ns),
      itl_ms(kItlBoundsMs) {
  id = handle->id();
  cache_salt = std::move(request.cache_salt);
  tokens = std::move(request.prompt_token_ids);
  n_prompt = n_tokens();
  tokens.reserve(static_cast<std::size_t>(max_total_tokens));
  reserve_blocks(max_total_tokens, block_size);
  arrived_ns = now_ns;
  takes_state = pooling.has_value();
  second_begin = pooling ? pooling->second_begin : 0;
  takes_best = !takes_state && lathe::engine::takes_best(params);
  wants_prompt_logits = !takes_state && params.prompt_logprobs.has_value();
  if (wants_prompt_logits) prompt_logprobs.resize(static_cast<std::size_t>(n_prompt));
}

void Generation::choose_rope(std::span<const std::int64_t> contexts) {
  rope_choice = lathe::engine::rope_choice(contexts, max_total_tokens);
  // The choice is the first byte of every salt of such a model, so that no caller's salt can equal the salt of another
  // choice.
  if (contexts.size() > 1) cache_salt.insert(cache_salt.begin(), static_cast<char>(rope_choice));
}

void Generation::constrain(ReadyConstraint ready, const Tokenizer& tokenizer, std::span<const std::int32_t> eos_ids,
                           std::span<const std::int32_t> suppressed_ids) {
  constraint =
      std::make_unique<AnswerConstraint>(std::move(ready), tokenizer, eos_ids, suppressed_ids, params, reading.get());
  jumps_ahead = constraint->jumps_ahead();
}

Error Generation::sampling_error() const {
  if (pooling) {
    return {ErrorCode::internal,
            "The hidden state of this text is not finite (NaN or infinity). Other requests are not affected.",
            {}};
  }
  if (constraint != nullptr && constraint->is_stuck()) return constraint->stuck_error();
  return {
      ErrorCode::internal,
      "The model gave no usable probabilities for this request (NaN, or no probability above zero). Other requests are not "
      "affected.",
      {}};
}

void Generation::accept_sample(std::span<const std::int32_t> eos_ids, std::int64_t now_ns) {
  if (n_output() == 0) {
    first_token_ns = now_ns;
    delta.prompt_logprobs = std::move(prompt_logprobs);
  } else {
    itl_ms.observe(ms_between(last_token_ns, now_ns));
  }
  last_token_ns = now_ns;
  if (params.logprobs) {
    delta.chosen_logprobs.push_back({.id = sampled.token, .logprob = sampled.logprob, .rank = sampled.rank});
    delta.logprobs.push_back(std::exchange(alternatives, {}));
  }
  append(sampled.token, eos_ids);
}

int Generation::jump_ahead(std::span<const std::int32_t> eos_ids) {
  int n = 0;
  while (finish == FinishReason::none) {
    const std::int32_t token = constraint->forced();
    if (token < 0) break;
    constraint->accept(token);
    append(token, eos_ids);
    add_text();
    ++n;
  }
  n_jumped = n;
  return n;
}

void Generation::append(std::int32_t token, std::span<const std::int32_t> eos_ids) {
  tokens.push_back(token);
  delta.token_ids.push_back(token);
  if (constraint != nullptr && constraint->has_ended()) {
    const bool is_stop_id = !contains(eos_ids, token) && contains(params.stop_token_ids, token);
    return is_stop_id ? stop(StopCause::token, std::to_string(token)) : stop(StopCause::eos, "eos");
  }
  if (n_output() >= params.min_tokens) {
    if (!params.ignore_eos && contains(eos_ids, token)) return stop(StopCause::eos, "eos");
    if (contains(params.stop_token_ids, token)) return stop(StopCause::token, std::to_string(token));
  }
  if (n_tokens() >= max_total_tokens) end(FinishReason::length);
}

void Generation::accept_vector(std::vector<float> vector, std::int64_t now_ns) {
  first_token_ns = last_token_ns = now_ns;
  delta.vector = std::move(vector);
  end(FinishReason::stop);
}

void Generation::add_text() {
  if (params.logprobs) delta.text_offsets.push_back(detokenizer.n_characters());
  // A token that only ends the answer adds no text.
  const bool has_text = constraint != nullptr && constraint->has_ended() && constraint->ended_with_text();
  const bool is_end_mark = finish == FinishReason::stop && !params.include_stop_str_in_output && !has_text;
  if (!is_end_mark) {
    const int matched = find_stop();
    if (matched >= 0) return stop(StopCause::text, params.stop[static_cast<std::size_t>(matched)]);
  }
  if (finish != FinishReason::none) detokenizer.flush(delta.text);
}

int Generation::find_stop() {
  const bool may_stop = n_output() > params.min_tokens;
  if (!content) return detokenizer.push(tokens.back(), delta.text, may_stop, &delta.marks);
  // The event may have the text of tokens before, which the parser has read.
  const std::size_t begin = delta.text.size(), first_mark = delta.marks.size();
  if (may_stop && !std::exchange(stops_hold, true) && params.min_tokens > 0)
    delta.marks.push_back({begin, TextMark::kStopsHold});
  detokenizer.push(tokens.back(), delta.text, false, &delta.marks);
  if (begin == 0 && first_mark == 0) return content->watch(delta.text, delta.marks);
  std::vector<TextMark> marks(delta.marks.begin() + static_cast<std::ptrdiff_t>(first_mark), delta.marks.end());
  for (TextMark& mark : marks) mark.at -= begin;
  return content->watch(std::string_view(delta.text).substr(begin), marks);
}

void Generation::stop(StopCause cause, std::string reason) {
  stop_cause = delta.stop_cause = cause;
  delta.stop_reason = std::move(reason);
  end(FinishReason::stop);
}

void Generation::end(FinishReason reason) {
  finish = reason;
  delta.finished = true;
  delta.finish_reason = reason;
}

void Generation::end_with(Error error) {
  detokenizer.flush(delta.text);
  delta.error = std::move(error);
  keeps_cache = false;
  end(FinishReason::error);
}

void Generation::cancel() {
  detokenizer.flush(delta.text);
  end(FinishReason::cancelled);
}

void Generation::complete_delta(std::int64_t now_ns) {
  if (delta.finished) end_ns = now_ns;
  delta.usage = {.n_prompt_tokens = n_prompt, .n_cached_tokens = n_cached, .n_completion_tokens = n_output()};
  RequestTimings& times = delta.timings;
  if (was_admitted) times.queue_ms = ms_between(submitted_ns, admitted_ns);
  if (n_output() > 0) times.ttft_ms = ms_between(submitted_ns, first_token_ns);
  times.end_ms = ms_between(submitted_ns, now_ns);
  if (delta.finished || n_output() >= next_quantiles) {
    next_quantiles = n_output() + kTokensAQuantile;
    itl_p50_ms = itl_ms.quantile(0.5);
    itl_p99_ms = itl_ms.quantile(0.99);
  }
  times.itl_p50_ms = itl_p50_ms;
  times.itl_p99_ms = itl_p99_ms;
  times.n_preemptions = n_preemptions;
  times.n_recomputed_tokens = n_recomputed;
  times.peak_blocks = peak_blocks;
}

}  // namespace lathe::engine
