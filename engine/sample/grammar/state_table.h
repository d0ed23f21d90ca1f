// SPDX-License-Identifier: Apache-2.0
// StateTable: the states of an automaton that some text has reached, each known by its number.
// Source: Earley, "An efficient context-free parsing algorithm" (1970); Leo, "A general context-free parsing algorithm
// running in linear time on every LR(k) grammar without using lookahead" (1991) for what completes at the end of a rule. An
// item's origin is the state in which its rule began, in place of a position, so that equal states have one number.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/sample/grammar/automaton.h"

namespace lathe::engine::grammar {

/// Requires: the automaton outlives the table. Thread: one at a time. Memory grows with the states; compact() drops those
/// that nothing refers to.
class StateTable {
 public:
  static constexpr std::int32_t kDead = -1;
  /// Origins that are no state: the state itself; the beginning of the text; a context that is not known.
  static constexpr std::int32_t kSelf = -1, kRoot = -2, kOutside = -3;
  /// Most items of one state. Only grammars that read a text in very many ways have more.
  static constexpr std::size_t kMaxItems = 20'000;

  /// A node reached; `count` is how often a counted rule's body was.
  struct Item {
    std::int32_t node = 0, count = 0, origin = kSelf;
    bool operator==(const Item&) const = default;
  };
  /// An item that goes on at `node` with `count` once `rule` is complete.
  struct Waiter {
    std::int32_t rule = 0, node = 0, count = 0, origin = kSelf;
  };

  /// `horizon`: iterations of a counted rule with an unknown context, above `from_count`, behind which the state escapes.
  explicit StateTable(const Automaton& automaton, std::int32_t from_count = 0, std::int32_t horizon = kMaxCount);

  std::int32_t initial();
  /// The state that has read a node's bytes next, with its rule's origin; nothing else.
  std::int32_t at_node(std::int32_t node, std::int32_t origin);
  /// The state in a counted rule of an unknown context.
  std::int32_t at_counted(std::int32_t rule, std::int32_t count);

  std::int32_t next(std::int32_t state, std::uint8_t byte) {
    const std::int32_t known = memo_of(state)[byte];
    return known != kUnknown ? known : find_next(state, byte);
  }
  /// True if the text may end here.
  bool accepts(std::int32_t state) const { return at(state).accepts; }
  /// True if what may follow depends on the unknown context.
  bool escapes(std::int32_t state) const { return at(state).escapes; }
  /// Items with edges of bytes.
  std::span<const Item> readers(std::int32_t state) const {
    return std::span(items_).subspan(at(state).reader_begin, at(state).reader_end - at(state).reader_begin);
  }
  /// Ascending by rule.
  std::span<const Waiter> waiters(std::int32_t state) const {
    return std::span(waiters_).subspan(at(state).waiter_begin, at(state).waiter_end - at(state).waiter_begin);
  }
  std::span<const Waiter> waiters(std::int32_t state, std::int32_t rule) const;

  /// A state had more than kMaxItems items, and was taken for dead.
  bool overflowed() const { return overflowed_; }
  std::size_t size() const { return states_.size(); }
  std::size_t n_bytes() const;
  /// A table with the same states under the same numbers.
  std::unique_ptr<StateTable> copy() const;
  /// Keeps the given states and those to which they refer; writes their new numbers.
  void compact(std::span<std::int32_t> kept);

 private:
  static constexpr std::int32_t kUnknown = -2;
  using Memo = std::array<std::int32_t, 256>;

  struct State {
    std::uint64_t hash = 0;
    std::uint32_t kernel_begin = 0, kernel_end = 0, reader_begin = 0, reader_end = 0, waiter_begin = 0, waiter_end = 0;
    std::unique_ptr<Memo> memo{};
    bool accepts = false, escapes = false;
  };

  const State& at(std::int32_t state) const { return states_[static_cast<std::size_t>(state)]; }
  Memo& memo_of(std::int32_t state) {
    State& from = states_[static_cast<std::size_t>(state)];
    if (!from.memo) make_memo(from);
    return *from.memo;
  }
  static void make_memo(State& state);
  std::int32_t find_next(std::int32_t state, std::uint8_t byte);
  void make_kernel();
  Item resumed(const Waiter& waiter, std::int32_t origin) const;
  std::int32_t intern();
  bool equals_kernel(const State& state) const;
  void grow_buckets();
  bool close(State& state);
  void visit(State& state, Item item);
  void visit_counted(State& state, const Automaton::Rule& rule, std::int32_t rule_number, Item item);
  void complete(State& state, std::int32_t rule, std::int32_t origin);
  void wait(Waiter waiter) { new_waiters_.push_back(waiter); }
  void add(Item item);
  void begin_items();

  const Automaton* automaton_;
  const std::int32_t from_count_, horizon_;
  std::vector<State> states_;
  std::vector<Item> items_;
  std::vector<Waiter> waiters_;
  std::vector<std::int32_t> buckets_;  ///< states by hash; kDead: free
  bool overflowed_ = false;

  // ---- work of one state
  std::vector<Item> kernel_, todo_;
  std::vector<Waiter> new_waiters_;
  std::vector<std::uint32_t> seen_;     ///< index of an item in todo_, by hash
  std::vector<std::uint32_t> seen_at_;  ///< the state for which the entry holds
  std::uint32_t epoch_ = 0;
};

}  // namespace lathe::engine::grammar
