// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/batch_builder.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/cache/paged_cache.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr std::int32_t kPaddingToken = 0;  // any id of the vocabulary; its results are discarded

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// True if the snapshots are in order and after rows of their sequences.
bool snapshots_are_consistent(const BatchPlan& plan) {
  std::int32_t sequence = 0, n_rows = 0;
  for (const kernels::StateSnapshot& snapshot : plan.snapshots) {
    if (snapshot.sequence < sequence || snapshot.sequence >= plan.n_seqs()) return false;
    if (snapshot.sequence != sequence) n_rows = 0;
    const std::int32_t n_of_sequence = plan.query_start[at(snapshot.sequence) + 1] - plan.query_start[at(snapshot.sequence)];
    if (snapshot.n_rows <= n_rows || snapshot.n_rows > n_of_sequence - plan.n_padding[at(snapshot.sequence)]) return false;
    sequence = snapshot.sequence;
    n_rows = snapshot.n_rows;
  }
  return true;
}

bool rows_are_consistent(const BatchPlan& plan) {
  const auto n_rows = at(plan.n_rows()), n_seqs = at(plan.n_seqs());
  if (plan.positions.size() != n_rows || plan.token_types.size() != n_rows || plan.rope_choices.size() != n_seqs)
    return false;
  if (plan.state_slots.size() != n_seqs || plan.n_padding.size() != n_seqs) return false;
  if (plan.state_sources.size() != n_seqs || !snapshots_are_consistent(plan)) return false;
  if (!plan.takes_best.empty() && plan.takes_best.size() != plan.logit_rows.size()) return false;
  if (!plan.takes_state.empty() && plan.takes_state.size() != plan.logit_rows.size()) return false;
  if (plan.query_start.size() != n_seqs + 1 || plan.query_start.front() != 0) return false;
  if (plan.query_start.back() != plan.n_rows()) return false;
  for (std::size_t i = 0; i < n_seqs; ++i) {
    const std::int32_t begin = plan.query_start[i], end = plan.query_start[i + 1];
    if (begin >= end || plan.context_len[i] < end - begin) return false;
    if (plan.n_padding[i] < 0 || plan.n_padding[i] > end - begin) return false;
    for (std::int32_t row = begin; row < end; ++row) {
      if (plan.positions[at(row)] != plan.context_len[i] - (end - row)) return false;
    }
  }
  if (std::adjacent_find(plan.logit_rows.begin(), plan.logit_rows.end(), std::greater_equal<>()) != plan.logit_rows.end()) {
    return false;
  }
  return plan.logit_rows.empty() || (plan.logit_rows.front() >= 0 && plan.logit_rows.back() < plan.n_rows());
}

bool group_is_consistent(const BatchPlan& plan, std::span<const std::int32_t> slots, std::span<const std::int32_t> tables,
                         int block_size) {
  const std::size_t n_seqs = at(plan.n_seqs()), width = at(plan.max_blocks);
  if (slots.size() != at(plan.n_rows()) || tables.size() != n_seqs * width) return false;
  for (std::size_t i = 0; i < n_seqs; ++i) {
    const auto table = tables.subspan(i * width, width);
    const std::size_t n_used = at((plan.context_len[i] + block_size - 1) / block_size);
    if (n_used > width) return false;
    if (std::ranges::any_of(table.first(n_used), [](std::int32_t block) { return block < 0; })) return false;
    if (std::ranges::any_of(table.subspan(n_used), [](std::int32_t block) { return block != -1; })) return false;
    for (std::int32_t row = plan.query_start[i]; row < plan.query_start[i + 1]; ++row) {
      const std::int32_t position = plan.positions[at(row)];
      if (slots[at(row)] != table[at(position / block_size)] * block_size + position % block_size) return false;
    }
  }
  return true;
}

}  // namespace

BatchBuilder::BatchBuilder(const BatchShape& shape) : block_size_(shape.block_size) {
  LATHE_CHECK(shape.block_size > 0);
  plan_.token_ids.reserve(shape.max_rows);
  plan_.positions.reserve(shape.max_rows);
  plan_.token_types.reserve(shape.max_rows);
  plan_.slots.reserve(shape.max_rows);
  plan_.query_start.reserve(shape.max_seqs + 1);
  plan_.context_len.reserve(shape.max_seqs);
  plan_.rope_choices.reserve(shape.max_seqs);
  plan_.block_tables.reserve(shape.max_seqs * shape.max_blocks);
  plan_.state_slots.reserve(shape.max_seqs);
  plan_.state_sources.reserve(shape.max_seqs);
  plan_.snapshots.reserve(shape.max_seqs * PendingSnapshots::kMost);
  plan_.n_padding.reserve(shape.max_seqs);
  plan_.logit_rows.reserve(shape.max_logit_rows);
  plan_.takes_best.reserve(shape.max_logit_rows);
  plan_.takes_state.reserve(shape.max_logit_rows);
  plan_.windows.resize(shape.n_windows);
  for (WindowRows& rows : plan_.windows) {
    rows.slots.reserve(shape.max_rows);
    rows.block_tables.reserve(shape.max_seqs * shape.max_blocks);
  }
  tables_.reserve(shape.max_seqs);
}

void BatchBuilder::clear() {
  plan_.clear();
  plan_.query_start.push_back(0);
  tables_.clear();
}

int BatchBuilder::add(const SequenceRows& rows) {
  LATHE_DCHECK(!plan_.query_start.empty() && is_complete(rows));
  const int first_row = plan_.n_rows(), first_logit = static_cast<int>(plan_.logit_rows.size());
  const std::size_t n_rows = at(first_row + rows.n_rows());
  plan_.token_ids.insert(plan_.token_ids.end(), rows.token_ids.begin(), rows.token_ids.end());
  plan_.token_ids.resize(n_rows, kPaddingToken);
  plan_.positions.resize(n_rows);
  std::iota(plan_.positions.begin() + first_row, plan_.positions.end(), rows.begin);
  plan_.token_types.resize(n_rows);
  for (int i = rows.second_begin > 0 ? std::max(rows.second_begin - rows.begin, 0) : rows.n_rows(); i < rows.n_rows(); ++i) {
    plan_.token_types[at(first_row + i)] = 1;
  }
  append_slots(rows.table, rows, plan_.slots);
  for (std::size_t i = 0; i < plan_.windows.size(); ++i) {
    append_slots(rows.table.windows[i], rows, plan_.windows[i].slots);
  }
  for (int i = 0; i < rows.n_logits; ++i) {
    plan_.logit_rows.push_back(first_row + rows.first_logit + i);
    plan_.takes_best.push_back(rows.takes_best && i + 1 == rows.n_logits ? 1 : 0);
    plan_.takes_state.push_back(rows.takes_state && i + 1 == rows.n_logits ? 1 : 0);
  }
  plan_.query_start.push_back(plan_.n_rows());
  plan_.context_len.push_back(rows.context_len());
  plan_.rope_choices.push_back(rows.rope_choice);
  plan_.state_slots.push_back(rows.table.state_slot);
  plan_.state_sources.push_back(rows.table.state_source >= 0 ? rows.table.state_source : rows.table.state_slot);
  for (const PendingSnapshot& pending : rows.table.pending.all()) {
    plan_.snapshots.push_back({.sequence = static_cast<std::int32_t>(tables_.size()),
                               .n_rows = pending.n_tokens - rows.begin,
                               .slot = pending.own.slot});
  }
  plan_.n_padding.push_back(rows.n_padding);
  plan_.max_blocks = std::max(plan_.max_blocks, blocks_for(rows.context_len()));
  tables_.push_back(&rows.table);
  return first_logit;
}

const BatchPlan& BatchBuilder::finish() {
  LATHE_DCHECK(plan_.block_tables.empty());
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const int n_blocks = blocks_for(plan_.context_len[i]);
    append_block_row(*tables_[i], n_blocks, plan_.block_tables);
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      append_block_row(tables_[i]->windows[w], n_blocks, plan_.windows[w].block_tables);
    }
  }
  tables_.clear();
  LATHE_DCHECK(is_consistent(plan_, block_size_));
  return plan_;
}

void BatchBuilder::append_slots(const BlockRow& row, const SequenceRows& rows, std::vector<std::int32_t>& slots) const {
  const int end = rows.context_len();
  for (int position = rows.begin; position < end; ++position) {
    slots.push_back(row.blocks[at(position / block_size_)] * block_size_ + position % block_size_);
  }
}

void BatchBuilder::append_block_row(const BlockRow& row, int n_blocks, std::vector<std::int32_t>& block_tables) const {
  const int n_dropped = std::min(row.n_dropped, n_blocks);
  for (int i = 0; i < n_dropped; ++i) block_tables.push_back(PagedCache::readable_block(row, i));
  block_tables.insert(block_tables.end(), row.blocks.begin() + n_dropped, row.blocks.begin() + n_blocks);
  block_tables.insert(block_tables.end(), at(plan_.max_blocks - n_blocks), -1);
}

bool BatchBuilder::is_complete(const SequenceRows& rows) const {
  if (rows.n_rows() <= 0 || rows.begin < 0 || rows.n_padding < 0) return false;
  const bool has_logit_rows = rows.n_logits == 0 || (rows.n_logits > 0 && rows.first_logit >= 0 &&
                                                     rows.first_logit + rows.n_logits <= rows.n_rows());
  if (!has_logit_rows || !holds_context(rows.table, rows) || rows.table.windows.size() < plan_.windows.size()) return false;
  return std::all_of(rows.table.windows.begin(), rows.table.windows.begin() + std::ssize(plan_.windows),
                     [&](const BlockRow& row) { return holds_context(row, rows); });
}

bool BatchBuilder::holds_context(const BlockRow& row, const SequenceRows& rows) const {
  return std::ssize(row.blocks) >= blocks_for(rows.context_len()) && rows.begin / block_size_ >= row.n_dropped;
}

bool is_consistent(const BatchPlan& plan, int block_size) {
  if (!rows_are_consistent(plan) || !group_is_consistent(plan, plan.slots, plan.block_tables, block_size)) return false;
  return std::all_of(plan.windows.begin(), plan.windows.end(), [&](const WindowRows& rows) {
    return group_is_consistent(plan, rows.slots, rows.block_tables, block_size);
  });
}

}  // namespace lathe::engine
