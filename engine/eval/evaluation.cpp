// SPDX-License-Identifier: Apache-2.0
#include "engine/eval/evaluation.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe::engine {
namespace {

tl::unexpected<Error> cancelled() { return fail(ErrorCode::cancelled, "the evaluation was cancelled"); }

}  // namespace

Evaluation::Evaluation(const EvalPlan& plan, std::vector<Scorer*> scorers) : plan_(plan), scorers_(std::move(scorers)) {}

double Evaluation::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

/// Tokenizes given and text as one; the given part ends before the first token that differs from the tokens of `given`
/// alone.
Result<Evaluation::Tokens> Evaluation::tokens_of(std::size_t text) const {
  const Tokenizer& tokenizer = scorers_.front()->tokenizer();
  const auto encode = [&](const std::string& of) -> Result<std::vector<std::int32_t>> {
    LATHE_TRY(auto ids, tokenizer.encode(of, true, plan_.parse_special));
    // A text that begins with BOS as a special token gets no second one.
    const auto bos = tokenizer.bos_id();
    if (bos && ids.size() >= 2 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
    return ids;
  };
  if (plan_.given.empty()) {
    LATHE_TRY(auto ids, encode(plan_.texts[text]));
    return Tokens{std::move(ids), 0};
  }
  LATHE_TRY(const auto given, encode(plan_.given[text]));
  LATHE_TRY(auto ids, encode(plan_.given[text] + plan_.texts[text]));
  const auto parted = std::mismatch(given.begin(), given.end(), ids.begin(), ids.end());
  return Tokens{std::move(ids), parted.first - given.begin()};
}

Result<void> Evaluation::tokenize(const std::function<bool()>& go_on) {
  if (!plan_.given.empty() && plan_.given.size() != plan_.texts.size()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there are {} texts, but {} texts before them (\"given\")", plan_.texts.size(), plan_.given.size()),
        "dataset");
  }
  const std::int64_t stride = plan_.stride > 0 ? plan_.stride : window() / 2;
  if (stride >= window()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("must be less than the window of {} tokens, got {}", window(), stride), "stride");
  }
  for (std::size_t text = 0; text < plan_.texts.size(); ++text) {
    if (!go_on()) return cancelled();
    LATHE_TRY(auto tokens, tokens_of(text));
    const auto n_tokens = static_cast<std::int64_t>(tokens.ids.size());
    for (TextWindow window : windows_of(plan_.protocol, n_tokens, this->window(), stride)) {
      window.predicted = std::max(window.predicted, tokens.n_given);
      if (window.n_predicted() <= 0) continue;
      if (plan_.max_tokens > 0) {
        const std::int64_t left = plan_.max_tokens - tokens_total_;
        if (left <= 0) break;
        window.end = std::min(window.end, window.predicted + left);  // begin stays: each token keeps its context
      }
      jobs_.push_back({texts_.size(), window});
      tokens_total_ += window.n_predicted();
    }
    n_texts_ += jobs_.empty() || jobs_.back().text != texts_.size() ? 0 : 1;
    texts_.push_back(std::move(tokens.ids));
  }
  if (tokens_total_ == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is nothing to predict: none of the {} texts is long enough for a window of {} tokens",
                            plan_.texts.size(), window()),
                "dataset");
  }
  return {};
}

Result<void> Evaluation::run(const PartReader& body, const EvalObserver& observer,
                             const std::function<double()>& perplexity) {
  std::int64_t tokens_done = 0;
  const auto go_on = [&] {
    return !observer || observer({.tokens_done = tokens_done, .tokens_total = tokens_total_, .perplexity = perplexity()});
  };
  LATHE_TRY_VOID(tokenize(go_on));
  for (const Job& job : jobs_) {
    LATHE_TRY_VOID(read_window(job, body, go_on));
    tokens_done += job.window.n_predicted();
  }
  return {};
}

Result<void> Evaluation::read_window(const Job& job, const PartReader& body, const std::function<bool()>& go_on) {
  const TextWindow& window = job.window;
  std::vector<std::int32_t> tokens(texts_[job.text].begin() + window.begin, texts_[job.text].begin() + window.end);
  const std::optional<std::int32_t> bos = scorers_.front()->tokenizer().bos_id();
  if (window.begins_with_bos && bos && scorers_.front()->tokenizer().adds_bos()) tokens.front() = *bos;
  std::int64_t most = scorers_.front()->max_rows();
  for (const Scorer* scorer : scorers_) most = std::min(most, scorer->max_rows());
  // The last token is not read, because the token after it is not known.
  const std::int64_t n_read = window.end - window.begin - 1;
  const std::int64_t first_predicting = window.predicted - window.begin - 1;
  for (std::int64_t begin = 0; begin < n_read; begin += most) {
    if (!go_on()) return cancelled();
    const std::int64_t n = std::min(most, n_read - begin);
    ReadPart part{.window = tokens, .begin = begin, .logits = {}};
    for (Scorer* scorer : scorers_) {
      LATHE_TRY(const kernels::TensorView logits, scorer->read(tokens, begin, n));
      part.logits.push_back(logits);
    }
    part.first_row = std::max<std::int64_t>(0, first_predicting - begin);
    part.n_rows = n - part.first_row;
    if (part.n_rows > 0 && !body(part)) {
      return fail(ErrorCode::internal,
                  "logits are not finite: the weights hold NaN or infinity, or numbers beyond their format", "model");
    }
  }
  return {};
}

}  // namespace lathe::engine
