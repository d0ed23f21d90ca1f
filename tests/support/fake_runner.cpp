// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_runner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

namespace lathe::tests {
namespace {

std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  std::uint64_t z = (state ^ value) + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void FakeScript::add_fault(std::string fault) {
  const std::lock_guard lock(mutex_);
  if (faults_.size() < 4096) faults_ += fault + "\n";
}

std::string FakeScript::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

void fake_logits(std::span<const std::int32_t> context, const FakeScript& script, std::span<float> logits) {
  std::uint64_t hash = 1;
  for (const std::int32_t token : context) hash = mix(hash, static_cast<std::uint64_t>(token));
  for (std::size_t id = 0; id < logits.size(); ++id) {
    logits[id] = static_cast<float>(mix(hash, id) >> 40) / static_cast<float>(1 << 21);  // 0 to 8
  }
  const bool ends = script.eos_period > 0 && hash % static_cast<std::uint64_t>(script.eos_period) == 0;
  if (script.eos_id >= 0) logits[at(script.eos_id)] = ends ? 20.0F : -20.0F;
  const bool poisoned = std::find(context.begin(), context.end(), script.poison) != context.end();
  if (script.barred >= 0 && std::find(context.begin(), context.end(), script.barred) != context.end()) {
    std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
  }
  if (poisoned || (script.end_poison >= 0 && context.back() == script.end_poison)) {
    std::fill(logits.begin(), logits.end(), std::numeric_limits<float>::quiet_NaN());
  }
}

std::vector<std::int32_t> greedy_answer(std::vector<std::int32_t> prompt, int n_tokens, int vocab_size,
                                        const FakeScript& script, std::int64_t window) {
  const std::size_t n_prompt = prompt.size();
  std::vector<float> logits(at(vocab_size));
  while (prompt.size() < n_prompt + at(n_tokens)) {
    const std::size_t n_seen = window > 0 ? std::min(prompt.size(), static_cast<std::size_t>(window)) : prompt.size();
    fake_logits(std::span(prompt).last(n_seen), script, logits);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    prompt.push_back(static_cast<std::int32_t>(best));
    if (best == script.eos_id) break;
  }
  return {prompt.begin() + static_cast<std::ptrdiff_t>(n_prompt), prompt.end()};
}

FakeRunner::FakeRunner(const engine::RunnerLimits& limits, std::shared_ptr<FakeScript> script)
    : limits_(limits), script_(std::move(script)) {
  kv_.emplace_back(at(limits.n_blocks) * at(limits.block_size));
  for (const engine::WindowPool& pool : limits.windows) kv_.emplace_back(at(pool.n_blocks) * at(limits.block_size));
}

engine::Result<engine::StepOutput> FakeRunner::run(const engine::BatchPlan& plan) {
  if (script_->before_run) script_->before_run(plan);
  ++script_->n_runs;
  script_->n_rows += plan.n_rows();
  if (script_->n_throws_to_come > 0) {
    --script_->n_throws_to_come;
    throw std::runtime_error("scripted exception");
  }
  if (script_->n_failures_to_come > 0) {
    --script_->n_failures_to_come;
    return tl::unexpected(script_->failure);
  }
  check(plan);
  write(plan);
  logits_.resize(plan.logit_rows.size() * at(limits_.vocab_size));
  for (std::size_t i = 0; i < plan.logit_rows.size(); ++i) {
    const std::int32_t row = plan.logit_rows[i];
    const auto next = std::upper_bound(plan.query_start.begin(), plan.query_start.end(), row);
    const auto sequence = static_cast<int>(next - plan.query_start.begin()) - 1;
    const int n_tokens = plan.positions[at(row)] + 1;
    const auto context = read_context(plan, 0, sequence, n_tokens, limits_.window);
    check_windows(plan, sequence, context, n_tokens);
    fake_logits(context, *script_, std::span(logits_).subspan(i * at(limits_.vocab_size), at(limits_.vocab_size)));
  }
  states_.clear();
  for (std::size_t i = 0; i < plan.logit_rows.size(); ++i) {
    const auto row = std::span(logits_).subspan(i * at(limits_.vocab_size), at(kFakeStateSize));
    states_.insert(states_.end(), row.begin(), row.end());
  }
  best_.clear();
  if (script_->gives_best) give_best(plan);
  return engine::StepOutput{.logits = {logits_.data(),
                                       kernels::Dtype::f32,
                                       {static_cast<std::int64_t>(plan.logit_rows.size()), limits_.vocab_size}},
                            .best = best_,
                            .states = {states_.data(), kernels::Dtype::f32, {std::ssize(plan.logit_rows), kFakeStateSize}}};
}

void FakeRunner::give_best(const engine::BatchPlan& plan) {
  best_.assign(plan.logit_rows.size(), -1);
  for (std::size_t i = 0; i < best_.size(); ++i) {
    if (plan.takes_best.at(i) == 0) continue;
    const auto logits = std::span(logits_).subspan(i * at(limits_.vocab_size), at(limits_.vocab_size));
    const auto most = std::max_element(logits.begin(), logits.end());
    if (std::isfinite(*most)) best_[i] = static_cast<std::int32_t>(most - logits.begin());
    std::fill(logits.begin(), logits.end(), std::numeric_limits<float>::quiet_NaN());
    ++script_->n_best;
  }
}

FakeRunner::GroupRows FakeRunner::rows_of(const engine::BatchPlan& plan, std::size_t group) const {
  if (group == 0) return {plan.slots, plan.block_tables, limits_.n_blocks};
  const engine::WindowRows& rows = plan.windows[group - 1];
  return {rows.slots, rows.block_tables, limits_.windows[group - 1].n_blocks};
}

void FakeRunner::check(const engine::BatchPlan& plan) {
  const auto fault = [&](const char* what) { script_->add_fault(what); };
  const auto n_rows = at(plan.n_rows());
  if (n_rows == 0 || plan.n_rows() > limits_.max_rows) fault("number of rows");
  if (plan.positions.size() != n_rows) fault("sizes of rows");
  if (plan.query_start.size() != at(plan.n_seqs()) + 1 || plan.query_start.back() != plan.n_rows()) fault("query_start");
  if (static_cast<int>(plan.logit_rows.size()) > limits_.max_logit_rows) fault("number of rows with logits");
  if (!std::is_sorted(plan.logit_rows.begin(), plan.logit_rows.end(), std::less_equal<>())) fault("order of logit_rows");
  if (plan.windows.size() != limits_.windows.size()) fault("number of window groups");
  for (std::size_t group = 0; group <= plan.windows.size(); ++group) check_group(plan, rows_of(plan, group));
}

void FakeRunner::check_group(const engine::BatchPlan& plan, const GroupRows& rows) {
  const auto fault = [&](const char* what) { script_->add_fault(what); };
  if (rows.slots.size() != at(plan.n_rows())) fault("number of slots");
  if (rows.block_tables.size() != at(plan.n_seqs()) * at(plan.max_blocks)) fault("size of block_tables");
  if (std::set(rows.slots.begin(), rows.slots.end()).size() != rows.slots.size()) fault("two rows write one slot");
  for (int sequence = 0; sequence < plan.n_seqs(); ++sequence) check_sequence(plan, rows, sequence);
}

void FakeRunner::check_sequence(const engine::BatchPlan& plan, const GroupRows& rows, int sequence) {
  const auto fault = [&](const char* what) { script_->add_fault(what); };
  const auto table = rows.block_tables.subspan(at(sequence) * at(plan.max_blocks), at(plan.max_blocks));
  const int begin = plan.query_start[at(sequence)], end = plan.query_start[at(sequence + 1)];
  const int n_context = plan.context_len[at(sequence)];
  if (begin >= end) fault("a sequence without rows");
  if (n_context > limits_.max_model_len) fault("a context longer than max_model_len");
  for (int i = 0; i < plan.max_blocks; ++i) {
    const bool used = i * limits_.block_size < n_context;
    const std::int32_t block = table[at(i)];
    if (used ? block < 0 || block >= rows.n_blocks : block != -1) fault("entry of a block table");
  }
  for (int row = begin; row < end; ++row) {
    const std::int32_t position = plan.positions[at(row)];
    if (position != n_context - (end - row)) fault("position");
    const std::int32_t block = table[at(position / limits_.block_size)];
    if (rows.slots[at(row)] != block * limits_.block_size + position % limits_.block_size) fault("slot");
    // Nobody may write where somebody else reads.
    if (std::count(rows.block_tables.begin(), rows.block_tables.end(), block) != 1) fault("a row writes a shared block");
  }
}

void FakeRunner::write(const engine::BatchPlan& plan) {
  for (std::size_t group = 0; group < kv_.size(); ++group) {
    const GroupRows rows = rows_of(plan, group);
    for (std::size_t row = 0; row < rows.slots.size(); ++row) {
      kv_[group][at(rows.slots[row])] = {.token = plan.token_ids[row], .position = plan.positions[row]};
    }
  }
}

std::vector<std::int32_t> FakeRunner::read_context(const engine::BatchPlan& plan, std::size_t group, int sequence,
                                                   int n_tokens, std::int64_t window) {
  const int first = window > 0 ? std::max(0, n_tokens - static_cast<int>(window)) : 0;
  const GroupRows rows = rows_of(plan, group);
  std::vector<std::int32_t> context(at(n_tokens - first));
  for (int position = first; position < n_tokens; ++position) {
    const std::int32_t block = rows.block_tables[at(sequence * plan.max_blocks + position / limits_.block_size)];
    const Kv& kv = kv_[group][at(block * limits_.block_size + position % limits_.block_size)];
    if (kv.position != position) script_->add_fault("a slot holds another position");
    context[at(position - first)] = kv.token;
  }
  return context;
}

void FakeRunner::check_windows(const engine::BatchPlan& plan, int sequence, std::span<const std::int32_t> context,
                               int n_tokens) {
  for (std::size_t i = 0; i < limits_.windows.size(); ++i) {
    const auto seen = read_context(plan, i + 1, sequence, n_tokens, limits_.windows[i].window);
    if (seen.size() > context.size() || !std::equal(seen.begin(), seen.end(), context.end() - std::ssize(seen))) {
      script_->add_fault("a window group holds other tokens");
    }
  }
}

}  // namespace lathe::tests
