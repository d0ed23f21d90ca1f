// SPDX-License-Identifier: Apache-2.0
// Kullback-Leibler divergence of a tested model's distributions from those of a reference, token by token.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/eval/token_losses.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kReference = 0, kTested = 1;
constexpr std::size_t kMostWorst = 10;
// Tokens shown before a token at which the models disagree.
constexpr std::int64_t kShownBefore = 12;

/// Sum of p (log p - log q) in nats, for p and q given by logits and the log of their sum of exponentials.
double divergence(std::span<const float> p, double p_log_sum, std::span<const float> q, double q_log_sum) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = p[i] - p_log_sum;
    const double probability = std::exp(log_p);
    if (probability > 0) sum += probability * (log_p - (q[i] - q_log_sum));
  }
  return std::max(sum, 0.0);  // rounding may leave the sum below 0
}

/// Collects the divergences of all tokens; 8 bytes a token.
class Divergences {
 public:
  explicit Divergences(Scorer& reference) : reference_(reference) {}

  /// False: logits are not finite.
  bool add(const ReadPart& part) {
    for (const std::size_t scorer : {kReference, kTested}) {
      if (!losses_[scorer].add(part, scorer, reference_)) return false;
    }
    const std::size_t first = all_.size();
    all_.resize(first + static_cast<std::size_t>(part.n_rows));
    reference_.parallel_for(part.n_rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        all_[first + static_cast<std::size_t>(i)] = divergence(part.row(kReference, i), losses_[kReference].log_sum(i),
                                                               part.row(kTested, i), losses_[kTested].log_sum(i));
      }
    });
    for (std::int64_t i = 0; i < part.n_rows; ++i) record(part, i, all_[first + static_cast<std::size_t>(i)]);
    return true;
  }

  double perplexity() const { return losses_[kTested].perplexity(); }

  DivergenceReport report(const Evaluation& evaluation) {
    std::sort(all_.begin(), all_.end());
    const auto quantile = [&](double share) {
      return all_[static_cast<std::size_t>(share * static_cast<double>(all_.size() - 1))];
    };
    return {.reference = losses_[kReference].report(evaluation),
            .tested = losses_[kTested].report(evaluation),
            .kl = mean_.interval(),
            .kl_median = quantile(0.5),
            .kl_90 = quantile(0.9),
            .kl_99 = quantile(0.99),
            .kl_max = all_.back(),
            .same_best = static_cast<double>(n_same_best_) / static_cast<double>(all_.size()),
            .worst = worst_};
  }

 private:
  void record(const ReadPart& part, std::int64_t i, double kl) {
    mean_.add(kl);
    const std::int32_t reference_best = losses_[kReference].best(i), tested_best = losses_[kTested].best(i);
    n_same_best_ += reference_best == tested_best ? 1 : 0;
    if (worst_.size() == kMostWorst && kl <= worst_.back().kl) return;
    const auto place = std::find_if(worst_.begin(), worst_.end(), [&](const Divergence& other) { return other.kl < kl; });
    worst_.insert(place, described(part, i, kl, reference_best, tested_best));
    if (worst_.size() > kMostWorst) worst_.pop_back();
  }

  Divergence described(const ReadPart& part, std::int64_t i, double kl, std::int32_t reference_best,
                       std::int32_t tested_best) const {
    const Tokenizer& tokenizer = reference_.tokenizer();
    const std::int64_t at = part.begin + part.first_row + i + 1;
    const std::int64_t from = std::max<std::int64_t>(0, at - kShownBefore);
    const auto next = static_cast<std::size_t>(part.next(i));
    const auto probability = [&](std::size_t scorer) {
      return std::exp(part.row(scorer, i)[next] - losses_[scorer].log_sum(i));
    };
    return {.kl = kl,
            .before = tokenizer.decode(
                part.window.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(at - from)), true),
            .token = tokenizer.piece(part.next(i)),
            .reference_best = tokenizer.piece(reference_best),
            .tested_best = tokenizer.piece(tested_best),
            .reference_probability = probability(kReference),
            .tested_probability = probability(kTested)};
  }

  Scorer& reference_;
  TokenLosses losses_[2];
  std::vector<double> all_;
  RunningMean mean_;
  std::int64_t n_same_best_ = 0;
  std::vector<Divergence> worst_;
};

Result<void> check_pair(const Scorer& reference, const Scorer& tested) {
  if (reference.vocab_size() != tested.vocab_size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the reference gives {} logits per token and the tested model {}, so they cannot be compared",
                            reference.vocab_size(), tested.vocab_size()),
                "reference");
  }
  if (reference.window() != tested.window()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the two models have contexts of {} and {} tokens; set a window that fits both",
                            reference.window(), tested.window()),
                "window");
  }
  return {};
}

class LoadedComparison final : public Comparison {
 public:
  LoadedComparison(Scorer reference, EvalPlan plan, const PackedCacheFolder& folder)
      : reference_(std::move(reference)), plan_(std::move(plan)), folder_(folder) {}

  Result<DivergenceReport> measure(const EngineOptions& options, const EvalObserver& observer) override {
    LATHE_TRY(Scorer tested, Scorer::open(options, plan_, observer, folder_));
    LATHE_TRY_VOID(check_pair(reference_, tested));
    Evaluation evaluation(plan_, {&reference_, &tested});
    Divergences divergences(reference_);
    LATHE_TRY_VOID(evaluation.run([&](const ReadPart& part) { return divergences.add(part); }, observer,
                                  [&] { return divergences.perplexity(); }));
    DivergenceReport report = divergences.report(evaluation);
    report.reference.warnings = reference_.warnings();
    report.tested.warnings = tested.warnings();
    return report;
  }

  std::int64_t reference_bytes() const override {
    const RunnerMemory memory = reference_.memory();
    return memory.weights + memory.kv + memory.activations + memory.rope + memory.work;
  }

 private:
  Scorer reference_;
  const EvalPlan plan_;
  const PackedCacheFolder folder_;
};

}  // namespace

Result<std::unique_ptr<Comparison>> open_comparison(const EngineOptions& reference, EvalPlan plan,
                                                    const EvalObserver& observer, const PackedCacheFolder& folder) {
  LATHE_TRY(Scorer scorer, Scorer::open(reference, plan, observer, folder));
  return std::make_unique<LoadedComparison>(std::move(scorer), std::move(plan), folder);
}

Result<DivergenceReport> measure_divergence(const EngineOptions& reference, const EngineOptions& tested,
                                            const EvalPlan& plan, const EvalObserver& observer,
                                            const PackedCacheFolder& folder) {
  LATHE_TRY(const auto comparison, open_comparison(reference, plan, observer, folder));
  return comparison->measure(tested, observer);
}

}  // namespace lathe::engine
