// SPDX-License-Identifier: Apache-2.0
#include "tests/support/runner_driver.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/model/decoder/load_weights.h"
#include "engine/schedule/batch_builder.h"
#include "engine/serve/load_runner.h"
#include "engine/serve/opened_model.h"

namespace lathe::tests {

namespace {

constexpr int kMaxSequences = 16;

std::unique_ptr<kernels::Backend> backend_of(const std::string& isa) {
  auto backend = isa.empty() ? kernels::make_reference_backend() : kernels::make_cpu_backend({.n_threads = 2, .isa = isa});
  LATHE_CHECK(backend != nullptr);
  return backend;
}

engine::Smoothing smoothing_of(const engine::OpenedModel& model, const engine::EngineOptions& options) {
  const engine::Quantization* const chosen = engine::find_quantization(options.quantization);
  if (chosen == nullptr || !chosen->smooths) return {};  // no tokenizer has to be there
  const auto tokenizer = engine::open_tokenizer(model.folder.path());
  LATHE_CHECK(tokenizer.has_value());
  auto smoothing = engine::find_smoothing(model, tokenizer->get(), options, {});
  LATHE_CHECK(smoothing.has_value());
  return std::move(*smoothing);
}

}  // namespace

RunnerDriver::RunnerDriver(const std::string& path, const RunnerChoice& choice) {
  auto model = engine::open_model(path);
  if (!model) std::fprintf(stderr, "%s: %s\n", model.error().where.c_str(), model.error().message.c_str());
  LATHE_CHECK(model.has_value());
  auto backend = backend_of(choice.isa);
  if (choice.wrap) backend = choice.wrap(std::move(backend));
  backend_ = backend.get();
  const std::int64_t longest = model->config.max_position_embeddings;
  const std::int64_t max_model_len = choice.max_model_len > 0 ? choice.max_model_len : longest;
  engine::StoredWeights stored = choice.dtype;
  stored.per_layer_table = model->plan.stored.per_layer_table;
  if (choice.as_stored) {
    stored.matrices = model->plan.stored.matrices;
    stored.experts = model->plan.stored.experts;
    stored.head = model->plan.stored.head;
    stored.layers = model->plan.stored.layers;
    stored.matrices_are_ordered = model->plan.stored.matrices_are_ordered;
    stored.experts_are_ordered = model->plan.stored.experts_are_ordered;
  }
  const engine::WeightStorage storage = engine::storage_of(choice.quantization, stored);
  auto decoder = engine::Decoder::create(*backend, model->config, storage, max_model_len);
  const engine::Smoothing smoothing = smoothing_of(*model, choice.quantization);
  LATHE_CHECK(decoder.has_value() &&
              engine::load_weights(*decoder, *backend, model->checkpoint, model->plan, {}, smoothing).has_value());
  const engine::RunnerLimits limits{.vocab_size = model->config.vocab_size,
                                    .max_model_len = max_model_len,
                                    .block_size = choice.block_size,
                                    .n_blocks = choice.n_blocks * kMaxSequences,
                                    .max_rows = choice.max_rows,
                                    .max_logit_rows = choice.max_rows,
                                    .windows = choice.windows,
                                    .n_state_slots = model->config.has_recurrent_layers() ? kMaxSequences : 0,
                                    .n_snapshots = choice.n_snapshots};
  auto runner = engine::ModelRunner::create(std::move(backend), std::move(*decoder), choice.dtype, limits);
  LATHE_CHECK(runner.has_value());
  runner_ = std::move(*runner);
}

std::vector<std::vector<float>> RunnerDriver::step(const std::vector<DriverRows>& rows) {
  const int block_size = runner_->limits().block_size;
  std::vector<engine::BlockTable> tables(rows.size());
  engine::BatchBuilder builder({.block_size = block_size});
  builder.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DriverRows& part = rows[i];
    const int n_context = static_cast<int>(part.tokens.size());
    tables[i].state_slot = part.sequence;
    for (int block = 0; block * block_size < n_context; ++block) {
      tables[i].blocks.push_back(part.sequence + block * kMaxSequences);
    }
    builder.add({.table = tables[i],
                 .token_ids = part.tokens.last(static_cast<std::size_t>(part.n_new)),
                 .begin = n_context - part.n_new,
                 .n_logits = part.n_new,
                 .rope_choice = engine::rope_choice(runner_->limits().rope_contexts, std::max(n_context, part.n_reach))});
  }
  const auto output = runner_->run(builder.finish());
  LATHE_CHECK(output.has_value());
  const kernels::TensorView& logits = output->logits;
  std::vector<std::vector<float>> result;
  for (std::int64_t i = 0; i < logits.dim(0); ++i) {
    result.emplace_back(logits.row<float>(i), logits.row<float>(i) + logits.dim(1));
  }
  return result;
}

std::vector<std::int32_t> RunnerDriver::greedy(std::vector<std::int32_t> prompt, int n_tokens,
                                               std::vector<double>* log_probabilities) {
  std::vector<std::int32_t> context = std::move(prompt), generated;
  int n_new = static_cast<int>(context.size());
  const int n_reach = n_new + n_tokens;
  while (static_cast<int>(generated.size()) < n_tokens) {
    const std::vector<float> logits = step({{.sequence = 0, .tokens = context, .n_new = n_new, .n_reach = n_reach}}).back();
    const std::int32_t token = best_token(logits);
    if (log_probabilities != nullptr) log_probabilities->push_back(log_probability(logits, token));
    generated.push_back(token);
    context.push_back(token);
    n_new = 1;
  }
  return generated;
}

Logits logits_of(const std::string& path, const RunnerChoice& choice) {
  constexpr int kTokens = 24;  // more than two tiles of rows
  RunnerDriver driver(path, choice);
  const auto n_ids = static_cast<std::size_t>(std::min<std::int64_t>(driver.runner().limits().vocab_size - 3, 90));
  std::vector<std::int32_t> ids(kTokens);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % n_ids + 3);
  return driver.step({{0, ids, kTokens}});
}

double largest_difference(const Logits& a, const Logits& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t row = 0; row < a.size(); ++row) {
    if (a[row].size() != b[row].size()) return INFINITY;
    for (std::size_t i = 0; i < a[row].size(); ++i) {
      const double difference = std::abs(static_cast<double>(a[row][i]) - static_cast<double>(b[row][i]));
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
  }
  return largest;
}

double largest_magnitude(const Logits& logits) {
  return logits.empty() ? 0 : largest_difference(logits, Logits(logits.size(), std::vector<float>(logits.front().size())));
}

double log_probability(std::span<const float> logits, std::int32_t id) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return static_cast<double>(logits[static_cast<std::size_t>(id)]) - top - std::log(sum);
}

std::int32_t best_token(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace lathe::tests
