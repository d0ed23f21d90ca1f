// SPDX-License-Identifier: Apache-2.0
// Evaluation: perplexity of a model on texts, and divergence of its predictions from those of a reference.
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

/// Protocol: the tokens of a text that are predicted, and the context of each.
enum class EvalProtocol : std::uint8_t {
  sliding,  ///< every token, from at least window - stride tokens before it if the text has so many
  cut,      ///< the first `window` tokens of each text
  halves    ///< llama.cpp's: texts are cut into windows that begin with BOS, and the second half of each is predicted
};

struct EvalPlan {
  std::vector<std::string> texts;
  std::vector<std::string> given{};  ///< context before each text, not predicted; one for each text, or empty
  bool parse_special = false;        ///< special tokens, BOS too, are parsed in `given` and `texts`
  EvalProtocol protocol = EvalProtocol::sliding;
  std::int64_t window = 0;      ///< tokens; 0: the model's longest context, at most 2,048
  std::int64_t stride = 0;      ///< tokens that a sliding window moves; 0: half of the window
  std::int64_t max_tokens = 0;  ///< most tokens to predict; 0: all
};

struct EvalProgress {
  std::int64_t bytes_loaded = 0;  ///< bytes of weights; the evaluation begins after all are loaded
  std::int64_t tokens_done = 0, tokens_total = 0;
  double perplexity = 0;  ///< perplexity so far
};
/// Called with the progress; false cancels.
using EvalObserver = std::function<bool(const EvalProgress&)>;

/// A mean with its 95 % confidence interval, assuming independent tokens.
struct Interval {
  double mean = 0, low = 0, high = 0;
};

struct PerplexityReport {
  Interval perplexity;
  Interval nll;  ///< negative log likelihood, nats per token
  std::int64_t n_tokens = 0, n_texts = 0, window = 0;
  double seconds = 0;
  std::vector<std::string> warnings{};  ///< warnings about the model's weights
};

/// A token for which the predictions of two models differ.
struct Divergence {
  double kl = 0;       ///< nats
  std::string before;  ///< text before the token
  std::string token;   ///< the token in the text
  std::string reference_best, tested_best;
  double reference_probability = 0, tested_probability = 0;  ///< probability of `token`
};

struct DivergenceReport {
  PerplexityReport reference, tested;
  Interval kl;  ///< KL divergence of the tested from the reference distribution, nats per token
  double kl_median = 0, kl_90 = 0, kl_99 = 0, kl_max = 0;
  double same_best = 0;           ///< share of tokens for which both models have the same most probable token
  std::vector<Divergence> worst;  ///< the largest KL first
};

/// Measures the perplexity of a model. `folder`, here and below: packed weight cache.
/// Errors: invalid_argument when there is no token to predict or the window does not fit the model; cancelled; those of
/// load_engine.
Result<PerplexityReport> measure_perplexity(const EngineOptions& options, const EvalPlan& plan, const EvalObserver& observer,
                                            const PackedCacheFolder& folder = {});
/// Runs both models over the same windows at the same time and stores only sums. Errors: those of measure_perplexity;
/// invalid_argument when the vocabularies differ.
Result<DivergenceReport> measure_divergence(const EngineOptions& reference, const EngineOptions& tested,
                                            const EvalPlan& plan, const EvalObserver& observer,
                                            const PackedCacheFolder& folder = {});

/// Comparison of several models, one after the other, with a reference that is loaded once.
/// Owns: the reference. Thread: one at a time.
class Comparison {
 public:
  virtual ~Comparison() = default;
  /// As measure_divergence; the tested model is unloaded when this returns.
  virtual Result<DivergenceReport> measure(const EngineOptions& tested, const EvalObserver& observer) = 0;
  virtual std::int64_t reference_bytes() const = 0;  ///< bytes of memory that the reference takes
};
/// Loads the reference. Errors: those of measure_perplexity.
Result<std::unique_ptr<Comparison>> open_comparison(const EngineOptions& reference, EvalPlan plan,
                                                    const EvalObserver& observer, const PackedCacheFolder& folder = {});

}  // namespace lathe::engine
