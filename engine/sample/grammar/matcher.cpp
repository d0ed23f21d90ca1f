// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/matcher.h"

#include <algorithm>
#include <tuple>

#include "kernels/api/check.h"

namespace lathe::engine::grammar {

Matcher::Matcher(std::shared_ptr<const Automaton> automaton, MatcherParts parts)
    : automaton_(std::move(automaton)), parts_(std::move(parts)), table_(std::make_unique<StateTable>(*automaton_)) {
  history_.reserve(kMaxRollback + 1);
  history_.push_back(table_->initial());
  mask_.words.resize(parts_.vocabulary->n_words());
  path_.resize(parts_.vocabulary->longest() + 1);
}

Matcher::Matcher(const Matcher& other) : Matcher(other.automaton_, other.parts_) {
  // Numbers of states are those of a table, so the copy reads the same states from a table of its own.
  history_ = other.history_;
  table_ = other.table_->copy();
}

bool Matcher::accept(std::int32_t token) {
  // Where a grammar asks for a token, the token is no text.
  if (parts_.vocabulary->has_own_bytes(token) && accept_bytes(bytes_of_token(token))) return true;
  const std::string_view bytes = parts_.vocabulary->text_of(token);
  return !bytes.empty() && accept_bytes(bytes);
}

bool Matcher::accept_bytes(std::string_view bytes) {
  std::int32_t state = history_.back();
  for (const char byte : bytes) {
    if (state == StateTable::kDead) return false;
    state = table_->next(state, static_cast<std::uint8_t>(byte));
  }
  if (state == StateTable::kDead) return false;
  if (history_.size() > kMaxRollback) history_.erase(history_.begin());
  history_.push_back(state);
  if (table_->n_bytes() > kMaxBytes) {
    // States that are still needed for taking tokens back give way if they take this much by themselves.
    table_->compact(history_);
    if (table_->n_bytes() > kMaxBytes / 2) history_.erase(history_.begin(), history_.end() - 1);
    mask_state_ = StateTable::kDead;
  }
  return true;
}

void Matcher::rollback(std::size_t n) {
  LATHE_CHECK(n <= n_kept());
  history_.resize(history_.size() - n);
}

bool Matcher::must_end() {
  if (!may_end()) return false;
  for (const StateTable::Item& item : table_->readers(history_.back())) {
    const auto& node = automaton_->nodes[static_cast<std::size_t>(item.node)];
    if (node.byte_begin != node.byte_end) return false;
  }
  return true;
}

/// The only byte that can follow; -1: there is none, there are several, or the text may end.
int Matcher::only_byte(std::int32_t state) const {
  if (table_->accepts(state)) return -1;
  int only = -1;
  for (const StateTable::Item& item : table_->readers(state)) {
    for (const Automaton::ByteEdge& edge : automaton_->bytes_of(automaton_->nodes[static_cast<std::size_t>(item.node)])) {
      if (edge.first != edge.last || (only >= 0 && only != edge.first)) return -1;
      only = edge.first;
    }
  }
  return only;
}

ForcedBytes Matcher::forced_bytes(std::size_t max_bytes) {
  ForcedBytes forced{.bytes = {}, .states = {history_.back()}};
  while (forced.bytes.size() < max_bytes) {
    const int byte = only_byte(forced.states.back());
    if (byte < 0) break;
    const std::int32_t state = table_->next(forced.states.back(), static_cast<std::uint8_t>(byte));
    if (state == StateTable::kDead) break;  // the grammar is too ambiguous
    forced.bytes.push_back(static_cast<char>(byte));
    forced.states.push_back(state);
  }
  return forced;
}

bool Matcher::has_token_across(std::string_view begin, std::int32_t state) {
  const Vocabulary& vocabulary = *parts_.vocabulary;
  const auto nodes = vocabulary.nodes();
  std::size_t i = 0, end = nodes.size();
  for (const char byte : begin) {
    while (i < end && nodes[i].byte != static_cast<std::uint8_t>(byte)) i = nodes[i].end;
    if (i >= end) return false;
    end = nodes[i++].end;
  }
  path_[begin.size()] = state;
  while (i < end) {
    const Vocabulary::Node& node = nodes[i];
    const std::int32_t next = table_->next(path_[node.depth - 1U], node.byte);
    if (next != StateTable::kDead && vocabulary.own_end(i) > node.first_token) return true;
    path_[node.depth] = next;
    i = next == StateTable::kDead ? node.end : i + 1;
  }
  return false;
}

const TokenMask& Matcher::mask() {
  if (mask_state_ != history_.back()) make_mask();
  return mask_;
}

std::vector<TokenPlace> Matcher::places() const {
  const std::int32_t state = history_.back();
  std::vector<TokenPlace> places;
  for (const StateTable::Item& item : table_->readers(state)) {
    const std::int32_t rule = automaton_->nodes[static_cast<std::size_t>(item.node)].rule;
    const std::int32_t counted = automaton_->rules[static_cast<std::size_t>(rule)].counted_by;
    if (counted < 0 || item.origin < StateTable::kSelf) {
      places.push_back({.node = item.node});
      continue;
    }
    for (const StateTable::Waiter& waiter : table_->waiters(item.origin == StateTable::kSelf ? state : item.origin, rule)) {
      const auto& node = automaton_->nodes[static_cast<std::size_t>(waiter.node)];
      const bool is_counted = node.rule == counted;
      if (!is_counted) places.push_back({.node = item.node});
      else places.push_back({.node = item.node, .counted = counted, .count = waiter.count - 1});
    }
  }
  const auto key = [](const TokenPlace& place) { return std::tie(place.node, place.counted, place.count); };
  std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  places.erase(std::unique(places.begin(), places.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
               places.end());
  return places;
}

void Matcher::make_mask() {
  std::fill(mask_.words.begin(), mask_.words.end(), 0);
  open_.clear();
  for (const TokenPlace& place : places()) add_sets(*parts_.sets->get(*automaton_, *parts_.vocabulary, place));
  decide_open();
  mask_.any = std::any_of(mask_.words.begin(), mask_.words.end(), [](std::uint64_t word) { return word != 0; });
  mask_.may_end = may_end();
  mask_state_ = history_.back();
}

void Matcher::add_sets(const TokenSets& sets) {
  for (std::size_t i = 0; i < sets.accepted.size(); ++i) mask_.words[i] |= sets.accepted[i];
  for (const std::int32_t id : sets.accepted_ids) add_token(id);
  const auto middle = static_cast<std::ptrdiff_t>(open_.size());
  open_.insert(open_.end(), sets.open.begin(), sets.open.end());
  std::inplace_merge(open_.begin(), open_.begin() + middle, open_.end());
}

/// Reads the open tokens from the current state, each from where it parts from the one before.
void Matcher::decide_open() {
  open_.erase(std::unique(open_.begin(), open_.end()), open_.end());
  const Vocabulary& vocabulary = *parts_.vocabulary;
  path_[0] = history_.back();
  std::string_view before;
  std::size_t n_read = 0;  // bytes of `before` that were read, the last of them perhaps without success
  for (const std::uint32_t token : open_) {
    if (has_token(vocabulary.id(token))) continue;
    const std::string_view text = vocabulary.text(token);
    std::size_t shared = 0;
    while (shared < n_read && shared < text.size() && text[shared] == before[shared]) ++shared;
    before = text;
    n_read = shared;
    if (path_[n_read] != StateTable::kDead) {
      while (n_read < text.size()) {
        path_[n_read + 1] = table_->next(path_[n_read], static_cast<std::uint8_t>(text[n_read]));
        ++n_read;
        if (path_[n_read] == StateTable::kDead) break;
      }
    }
    if (n_read == text.size() && path_[n_read] != StateTable::kDead) add_token(vocabulary.id(token));
  }
}

}  // namespace lathe::engine::grammar
