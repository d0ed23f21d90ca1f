// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/state_table.h"

#include <algorithm>
#include <tuple>

#include "engine/sample/grammar/content_key.h"

namespace lathe::engine::grammar {
namespace {

constexpr std::size_t kFirstBuckets = 256;
constexpr int kLongestChain =
    64;  // rules of one origin that may complete at once before they become items, in case they turn in a circle

std::uint64_t hash_of(const StateTable::Item& item) {
  return mixed(static_cast<std::uint64_t>(item.node) << 32 | static_cast<std::uint32_t>(item.origin),
               static_cast<std::uint64_t>(item.count));
}

bool comes_before(const StateTable::Item& a, const StateTable::Item& b) {
  return std::tie(a.node, a.count, a.origin) < std::tie(b.node, b.count, b.origin);
}

}  // namespace

StateTable::StateTable(const Automaton& automaton, std::int32_t from_count, std::int32_t horizon)
    : automaton_(&automaton),
      from_count_(from_count),
      horizon_(horizon),
      buckets_(kFirstBuckets, kDead),
      seen_(64, 0),
      seen_at_(64, 0) {}

std::int32_t StateTable::initial() {
  kernel_.assign(1, {.node = automaton_->rules.front().start, .count = 0, .origin = kRoot});
  return intern();
}

std::int32_t StateTable::at_counted(std::int32_t rule, std::int32_t count) {
  kernel_.assign(1, {.node = automaton_->rules[static_cast<std::size_t>(rule)].start, .count = count, .origin = kOutside});
  return intern();
}

std::int32_t StateTable::at_node(std::int32_t node, std::int32_t origin) {
  State state;
  state.kernel_begin = state.kernel_end = state.reader_begin = static_cast<std::uint32_t>(items_.size());
  items_.push_back({.node = node, .count = 0, .origin = origin});
  state.reader_end = static_cast<std::uint32_t>(items_.size());
  state.waiter_begin = state.waiter_end = static_cast<std::uint32_t>(waiters_.size());
  states_.push_back(std::move(state));
  return static_cast<std::int32_t>(states_.size() - 1);
}

void StateTable::make_memo(State& state) {
  state.memo = std::make_unique<Memo>();
  state.memo->fill(kUnknown);
}

std::int32_t StateTable::find_next(std::int32_t state, std::uint8_t byte) {
  begin_items();
  for (const Item& item : readers(state)) {
    const Automaton::Node& node = automaton_->nodes[static_cast<std::size_t>(item.node)];
    const std::int32_t origin = item.origin == kSelf ? state : item.origin;
    for (const Automaton::ByteEdge& edge : automaton_->bytes_of(node)) {
      if (edge.first <= byte && byte <= edge.last) add({.node = edge.target, .count = 0, .origin = origin});
    }
  }
  make_kernel();
  std::sort(kernel_.begin(), kernel_.end(), comes_before);
  const std::int32_t found = kernel_.empty() ? kDead : intern();
  memo_of(state)[byte] = found;
  return found;
}

/// Puts those that waited for it in the place of each item that only ends its rule: else a state would depend on where what
/// has ended began.
void StateTable::make_kernel() {
  kernel_.clear();
  for (std::size_t i = 0; i < todo_.size() && todo_.size() <= kMaxItems; ++i) {
    const Item item = todo_[i];
    const Automaton::Node& node = automaton_->nodes[static_cast<std::size_t>(item.node)];
    if (item.origin < 0 || !node.is_tail() || automaton_->rules[static_cast<std::size_t>(node.rule)].is_counted()) {
      kernel_.push_back(item);
      continue;
    }
    for (const Waiter& waiter : waiters(item.origin, node.rule)) add(resumed(waiter, item.origin));
  }
  if (todo_.size() <= kMaxItems) return;
  kernel_.clear();
  overflowed_ = true;
}

/// The item that a waiter of the state `origin` becomes when its rule is complete.
StateTable::Item StateTable::resumed(const Waiter& waiter, std::int32_t origin) const {
  Item item{.node = waiter.node, .count = waiter.count, .origin = waiter.origin == kSelf ? origin : waiter.origin};
  const auto number = automaton_->nodes[static_cast<std::size_t>(waiter.node)].rule;
  const Automaton::Rule& rule = automaton_->rules[static_cast<std::size_t>(number)];
  if (rule.is_counted() && rule.max < 0) item.count = std::min(item.count, rule.min);
  return item;
}

bool StateTable::equals_kernel(const State& state) const {
  return state.kernel_end - state.kernel_begin == kernel_.size() &&
         std::equal(kernel_.begin(), kernel_.end(), items_.begin() + state.kernel_begin);
}

void StateTable::grow_buckets() {
  buckets_.assign(buckets_.size() * 2, kDead);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].kernel_begin == states_[i].kernel_end) continue;
    std::size_t slot = states_[i].hash & (buckets_.size() - 1);
    while (buckets_[slot] != kDead) slot = (slot + 1) & (buckets_.size() - 1);
    buckets_[slot] = static_cast<std::int32_t>(i);
  }
}

/// The state with the items of kernel_, made if it is new.
std::int32_t StateTable::intern() {
  std::uint64_t hash = kernel_.size();
  for (const Item& item : kernel_) hash = mixed(hash, hash_of(item));
  std::size_t slot = hash & (buckets_.size() - 1);
  for (; buckets_[slot] != kDead; slot = (slot + 1) & (buckets_.size() - 1)) {
    const State& known = at(buckets_[slot]);
    if (known.hash == hash && equals_kernel(known)) return buckets_[slot];
  }
  State state{.hash = hash};
  state.kernel_begin = static_cast<std::uint32_t>(items_.size());
  items_.insert(items_.end(), kernel_.begin(), kernel_.end());
  state.kernel_end = static_cast<std::uint32_t>(items_.size());
  const auto number = static_cast<std::int32_t>(states_.size());
  if (!close(state)) {
    items_.resize(state.kernel_begin);
    overflowed_ = true;
    return kDead;
  }
  buckets_[slot] = number;
  states_.push_back(std::move(state));
  if (states_.size() * 2 > buckets_.size()) grow_buckets();
  return number;
}

void StateTable::begin_items() {
  todo_.clear();
  new_waiters_.clear();
  ++epoch_;
}

void StateTable::add(Item item) {
  const std::size_t mask = seen_.size() - 1;
  std::size_t slot = hash_of(item) & mask;
  for (; seen_at_[slot] == epoch_; slot = (slot + 1) & mask) {
    if (todo_[seen_[slot]] == item) return;
  }
  seen_[slot] = static_cast<std::uint32_t>(todo_.size());
  seen_at_[slot] = epoch_;
  todo_.push_back(item);
  if (todo_.size() * 2 <= seen_.size()) return;
  seen_.assign(seen_.size() * 2, 0);
  seen_at_.assign(seen_.size(), 0);
  for (std::size_t i = 0; i < todo_.size(); ++i) {
    std::size_t at = hash_of(todo_[i]) & (seen_.size() - 1);
    while (seen_at_[at] == epoch_) at = (at + 1) & (seen_.size() - 1);
    seen_[at] = static_cast<std::uint32_t>(i);
    seen_at_[at] = epoch_;
  }
}

/// Adds what the items predict and complete. False: there are too many.
bool StateTable::close(State& state) {
  begin_items();
  for (const Item& item : kernel_) add(item);
  state.reader_begin = static_cast<std::uint32_t>(items_.size());
  for (std::size_t i = 0; i < todo_.size(); ++i) {
    if (todo_.size() > kMaxItems || new_waiters_.size() > kMaxItems) return false;
    visit(state, todo_[i]);
  }
  state.reader_end = static_cast<std::uint32_t>(items_.size());
  std::sort(new_waiters_.begin(), new_waiters_.end(), [](const Waiter& a, const Waiter& b) {
    return std::tie(a.rule, a.node, a.count, a.origin) < std::tie(b.rule, b.node, b.count, b.origin);
  });
  state.waiter_begin = static_cast<std::uint32_t>(waiters_.size());
  waiters_.insert(waiters_.end(), new_waiters_.begin(), new_waiters_.end());
  state.waiter_end = static_cast<std::uint32_t>(waiters_.size());
  return true;
}

void StateTable::visit(State& state, Item item) {
  const Automaton::Node& node = automaton_->nodes[static_cast<std::size_t>(item.node)];
  const Automaton::Rule& rule = automaton_->rules[static_cast<std::size_t>(node.rule)];
  if (rule.is_counted()) return visit_counted(state, rule, node.rule, item);
  if (node.byte_begin != node.byte_end) items_.push_back(item);
  for (const Automaton::RuleEdge& edge : automaton_->rules_of(node)) {
    wait({.rule = edge.rule, .node = edge.target, .count = 0, .origin = item.origin});
    add({.node = automaton_->rules[static_cast<std::size_t>(edge.rule)].start, .count = 0, .origin = kSelf});
  }
  // A rule that began in this state is empty so far; the rule that predicted it has gone on without it already.
  if (node.is_final && item.origin != kSelf) complete(state, node.rule, item.origin);
}

void StateTable::visit_counted(State& state, const Automaton::Rule& rule, std::int32_t rule_number, Item item) {
  if (item.origin == kOutside && item.count - from_count_ >= horizon_) {
    state.escapes = true;
    return;
  }
  if (item.count >= rule.min && item.origin != kSelf) complete(state, rule_number, item.origin);
  if (rule.max >= 0 && item.count >= rule.max) return;
  wait({.rule = rule.body, .node = item.node, .count = item.count + 1, .origin = item.origin});
  add({.node = automaton_->rules[static_cast<std::size_t>(rule.body)].start, .count = 0, .origin = kSelf});
}

std::span<const StateTable::Waiter> StateTable::waiters(std::int32_t state, std::int32_t rule) const {
  const auto all = waiters(state);
  const auto before = [](const Waiter& waiter, std::int32_t value) { return waiter.rule < value; };
  const auto begin = std::lower_bound(all.begin(), all.end(), rule, before);
  auto end = begin;
  while (end != all.end() && end->rule == rule) ++end;
  return {begin, end};
}

void StateTable::complete(State& state, std::int32_t rule, std::int32_t origin) {
  for (int n_same = 0; n_same < kLongestChain;) {
    if (origin == kRoot) state.accepts = true;
    if (origin == kOutside) state.escapes = true;
    if (origin < 0) return;
    const auto waiting = waiters(origin, rule);
    if (waiting.size() != 1) break;
    // One waiter that only ends its own rule then: that rule is complete as well, without an item in between.
    const Waiter& only = waiting.front();
    const Automaton::Node& node = automaton_->nodes[static_cast<std::size_t>(only.node)];
    if (!node.is_tail() || automaton_->rules[static_cast<std::size_t>(node.rule)].is_counted()) break;
    rule = node.rule;
    n_same = only.origin == kSelf ? n_same + 1 : 0;
    origin = only.origin == kSelf ? origin : only.origin;
  }
  for (const Waiter& waiter : waiters(origin, rule)) add(resumed(waiter, origin));
}

std::size_t StateTable::n_bytes() const {
  return states_.size() * (sizeof(State) + sizeof(Memo)) + items_.size() * sizeof(Item) + waiters_.size() * sizeof(Waiter);
}

std::unique_ptr<StateTable> StateTable::copy() const {
  auto made = std::make_unique<StateTable>(*automaton_, from_count_, horizon_);
  for (const State& state : states_) {
    State& copied = made->states_.emplace_back();
    copied.hash = state.hash;
    copied.kernel_begin = state.kernel_begin, copied.kernel_end = state.kernel_end;
    copied.reader_begin = state.reader_begin, copied.reader_end = state.reader_end;
    copied.waiter_begin = state.waiter_begin, copied.waiter_end = state.waiter_end;
    copied.accepts = state.accepts;
    copied.escapes = state.escapes;
  }
  made->items_ = items_;
  made->waiters_ = waiters_;
  made->buckets_ = buckets_;
  made->overflowed_ = overflowed_;
  return made;
}

void StateTable::compact(std::span<std::int32_t> kept) {
  std::vector<char> needed(states_.size(), 0);
  for (const std::int32_t state : kept) {
    if (state >= 0) needed[static_cast<std::size_t>(state)] = 1;
  }
  for (std::size_t i = states_.size(); i-- > 0;) {  // an origin is older than the items that have it
    if (needed[i] == 0) continue;
    for (std::uint32_t k = states_[i].kernel_begin; k < states_[i].kernel_end; ++k) {
      if (items_[k].origin >= 0) needed[static_cast<std::size_t>(items_[k].origin)] = 1;
    }
  }
  StateTable fresh(*automaton_, from_count_, horizon_);
  std::vector<std::int32_t> numbers(states_.size(), kDead);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (needed[i] == 0) continue;
    fresh.kernel_.assign(items_.begin() + states_[i].kernel_begin, items_.begin() + states_[i].kernel_end);
    for (Item& item : fresh.kernel_) {
      if (item.origin >= 0) item.origin = numbers[static_cast<std::size_t>(item.origin)];
    }
    std::sort(fresh.kernel_.begin(), fresh.kernel_.end(), comes_before);
    numbers[i] = fresh.intern();
  }
  for (std::int32_t& state : kept) {
    if (state >= 0) state = numbers[static_cast<std::size_t>(state)];
  }
  states_ = std::move(fresh.states_);
  items_ = std::move(fresh.items_);
  waiters_ = std::move(fresh.waiters_);
  buckets_ = std::move(fresh.buckets_);
}

}  // namespace lathe::engine::grammar
