// SPDX-License-Identifier: Apache-2.0
// How well a model predicts a text, and how far it strays from another way to compute it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/options.h"
#include "engine/api/packed_cache.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Which tokens of a text are predicted, and from how much before them.
enum class EvalProtocol : std::uint8_t {
  sliding,  ///< every token, from at least window - stride tokens before it where there are so many
  cut,      ///< the first `window` tokens of each text
  halves    ///< llama.cpp's: texts cut into windows, each begun with BOS; the second half of each
};

struct EvalPlan {
  std::vector<std::string> texts;
  std::vector<std::string> given{};  ///< read before each text and not predicted; as many, or empty: nothing
  bool parse_special = false;        ///< special tokens may stand in given and texts, BOS among them
  EvalProtocol protocol = EvalProtocol::sliding;
  std::int64_t window = 0;      ///< tokens; 0: the model's longest context, at most 2,048
  std::int64_t stride = 0;      ///< tokens that a sliding window moves; 0: half of it
  std::int64_t max_tokens = 0;  ///< predicted at most; 0: all
};

struct EvalProgress {
  std::int64_t bytes_loaded = 0;  ///< of weights; nothing is read yet while this grows
  std::int64_t tokens_done = 0, tokens_total = 0;
  double perplexity = 0;  ///< so far
};
/// False cancels.
using EvalObserver = std::function<bool(const EvalProgress&)>;

/// A mean with its 95 % confidence interval, tokens taken as independent.
struct Interval {
  double mean = 0, low = 0, high = 0;
};

struct PerplexityReport {
  Interval perplexity;
  Interval nll;  ///< nats a token
  std::int64_t n_tokens = 0, n_texts = 0, window = 0;
  double seconds = 0;
  std::vector<std::string> warnings{};  ///< of the model's weights
};

/// A token before which two models disagree.
struct Divergence {
  double kl = 0;       ///< nats
  std::string before;  ///< text before it
  std::string token;   ///< that follows in the text
  std::string reference_best, tested_best;
  double reference_probability = 0, tested_probability = 0;  ///< of the token that follows
};

struct DivergenceReport {
  PerplexityReport reference, tested;
  Interval kl;  ///< of the tested from the reference distribution, nats a token
  double kl_median = 0, kl_90 = 0, kl_99 = 0, kl_max = 0;
  double same_best = 0;           ///< share of tokens for which both think the same one most probable
  std::vector<Divergence> worst;  ///< the largest first
};

/// `folder`: where quantized weights are kept, here and below. Errors: invalid_argument when there is nothing to predict or
/// the window does not fit the model; cancelled; those of load_engine.
Result<PerplexityReport> measure_perplexity(const EngineOptions& options, const EvalPlan& plan, const EvalObserver& observer,
                                            const PackedCacheFolder& folder = {});
/// Runs both models over the same windows side by side; nothing is stored but sums. Errors: the same, and when their
/// vocabularies differ.
Result<DivergenceReport> measure_divergence(const EngineOptions& reference, const EngineOptions& tested,
                                            const EvalPlan& plan, const EvalObserver& observer,
                                            const PackedCacheFolder& folder = {});

/// Several models, one after the other, beside a reference that is loaded once. Owns: the reference. Thread: one at a time.
class Comparison {
 public:
  virtual ~Comparison() = default;
  /// As measure_divergence; the tested model is gone again when this returns.
  virtual Result<DivergenceReport> measure(const EngineOptions& tested, const EvalObserver& observer) = 0;
  virtual std::int64_t reference_bytes() const = 0;  ///< of memory that the reference holds
};
/// Loads the reference. Errors: those of measure_perplexity.
Result<std::unique_ptr<Comparison>> open_comparison(const EngineOptions& reference, EvalPlan plan,
                                                    const EvalObserver& observer, const PackedCacheFolder& folder = {});

}  // namespace lathe::engine
