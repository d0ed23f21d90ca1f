// SPDX-License-Identifier: Apache-2.0
// PieceTable: the pieces of a vocabulary by their text. It answers whether a word is a piece.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine {

/// A hash table with open addressing. The first eight bytes of a piece are stored in the table, all bytes in one block of
/// text: for most words a look-up reads one cache line, and no string is made.
class PieceTable {
 public:
  static constexpr std::int32_t kNone = -1;

  explicit PieceTable(std::size_t n_pieces = 0) : slots_(std::bit_ceil(2 * n_pieces + 2)) {}

  std::size_t size() const { return n_pieces_; }
  /// Returns false if the piece is in the table, or was erased from it. Requires: id >= 0.
  bool insert(std::string_view piece, std::int32_t id) {
    if (2 * (n_pieces_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[find_slot(piece)];
    if (slot.id != kNone) return false;
    slot = {head_of(piece), id, static_cast<std::uint32_t>(piece.size()), texts_.size()};
    texts_ += piece;
    ++n_pieces_;
    return true;
  }
  /// Erases a piece if the table has it; its slot stays occupied.
  void erase(std::string_view piece) {
    Slot& slot = slots_[find_slot(piece)];
    if (slot.id >= 0) slot.id = kErased;
  }
  /// Returns kNone if the text is not a piece.
  std::int32_t find(std::string_view text) const {
    const std::int32_t id = slots_[find_slot(text)].id;
    return id < 0 ? kNone : id;
  }

  /// Calls visit(piece, id) for all pieces, in no particular order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.id >= 0) visit(text_of(slot), slot.id);
    }
  }

 private:
  static constexpr std::int32_t kErased = -2;
  struct Slot {
    std::uint64_t head = 0;  ///< the first eight bytes
    std::int32_t id = kNone;
    std::uint32_t size = 0;
    std::size_t at = 0;  ///< offset in texts_
  };

  /// The first eight bytes of `text`, padded with zeros.
  static std::uint64_t head_of(std::string_view text) {
    std::uint64_t head = 0;
    if (text.size() >= sizeof head) {
      std::memcpy(&head, text.data(), sizeof head);
    } else {
      for (std::size_t i = text.size(); i-- > 0;) head = head << 8 | static_cast<unsigned char>(text[i]);
    }
    return head;
  }
  static std::uint64_t hash_of(std::string_view text) {
    constexpr std::uint64_t kFactor = 0x9E37'79B9'7F4A'7C15ull;
    std::uint64_t hash = text.size() * kFactor;
    for (; !text.empty(); text.remove_prefix(text.size() < sizeof hash ? text.size() : sizeof hash)) {
      hash = (hash ^ head_of(text)) * kFactor;
      hash ^= hash >> 29;
    }
    return (hash * kFactor) >> 32;
  }
  std::string_view text_of(const Slot& slot) const { return {texts_.data() + slot.at, slot.size}; }
  bool is(const Slot& slot, std::uint64_t head, std::string_view text) const {
    if (slot.head != head || slot.size != text.size()) return false;
    return text.size() <= sizeof head || text_of(slot) == text;
  }
  std::size_t find_slot(std::string_view text) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t head = head_of(text);
    std::size_t at = hash_of(text) & mask;
    while (slots_[at].id != kNone && !is(slots_[at], head, text)) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id != kNone) slots_[find_slot(text_of(slot))] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::string texts_;
  std::size_t n_pieces_ = 0;
};

}  // namespace lathe::engine
