// SPDX-License-Identifier: Apache-2.0
// PieceTrie: the pieces of a vocabulary by their bytes. It finds the pieces that a text begins with.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/text/merge_table.h"

namespace lathe::engine {

/// Built once, then immutable. Each step is one look-up in a hash table.
class PieceTrie {
 public:
  static constexpr std::int32_t kRoot = 0, kNone = -1;
  /// Units: bytes of all pieces together; their memory is allocated at once.
  static constexpr std::size_t kMaxBytes = 16u << 20;

  /// Requires: all pieces together have at most n_bytes <= kMaxBytes bytes.
  explicit PieceTrie(std::size_t n_bytes = 0) : edges_(n_bytes), ids_(1, kNone) {}

  /// Inserts a piece; a later insertion of an equal piece wins. Requires: id >= 0.
  void insert(std::string_view piece, std::int32_t id) {
    std::int32_t node = kRoot;
    for (const char c : piece) {
      const std::int32_t below = next(node, c);
      if (below == kNone) {
        const auto made = static_cast<std::int32_t>(ids_.size());
        edges_.insert(node, static_cast<unsigned char>(c), {0, made});
        ids_.push_back(kNone);
        node = made;
      } else {
        node = below;
      }
    }
    ids_[static_cast<std::size_t>(node)] = id;
  }

  /// Returns the node after one more byte; kNone if no piece continues with that byte.
  std::int32_t next(std::int32_t node, char byte) const {
    const MergeTable::Merge edge = edges_.find(node, static_cast<unsigned char>(byte));
    return edge.rank == MergeTable::kNone ? kNone : edge.id;
  }
  /// Returns the node after all bytes of a text, or kNone.
  std::int32_t next(std::int32_t node, std::string_view text) const {
    for (std::size_t i = 0; i < text.size() && node != kNone; ++i) node = next(node, text[i]);
    return node;
  }
  /// Returns the id of the piece that ends at the node, or kNone.
  std::int32_t id(std::int32_t node) const { return node < 0 ? kNone : ids_[static_cast<std::size_t>(node)]; }

 private:
  MergeTable edges_;               // maps node and byte to the next node
  std::vector<std::int32_t> ids_;  // piece id by node
};

}  // namespace lathe::engine
