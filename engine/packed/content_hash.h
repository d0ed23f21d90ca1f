// SPDX-License-Identifier: Apache-2.0
// ContentHash: a 128-bit hash that identifies the bytes of a file or a buffer.
// Equation: a block of 1 KiB becomes the sum of (a + key) * (b + key') over its pairs of 64-bit words; blocks of such sums
// are summed in the same way, until one sum is left; then the length is mixed in. This is the function NH of UMAC with words
// of 64 bits: two different contents have the same sum with a probability of 2^-64 per level, unless they were made from the
// keys. It is bound by memory (some 10 GB/s per core; SHA-256 reaches 0.5). A cryptographic hash would resist a forged model
// that matches another entry, but an attacker who can forge one can write to the cache as well.
// Source: Black et al. 1999 (UMAC), Dai and Krovetz 2007 (VHASH).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine {

struct ContentHash {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const ContentHash&) const = default;
};

ContentHash hash_of(std::span<const std::byte> bytes);
ContentHash hash_of(std::string_view text);
/// Formats a hash as 32 hexadecimal digits.
std::string to_string(const ContentHash& hash);

/// Hashes a large buffer piece by piece, in any order and on any threads. The result differs from hash_of() of the whole.
class PieceHashes {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  explicit PieceHashes(std::size_t n_bytes) : n_bytes_(n_bytes), hashes_((n_bytes + kPieceBytes - 1) / kPieceBytes) {}

  std::size_t n_pieces() const { return hashes_.size(); }
  std::size_t begin_of(std::size_t piece) const { return piece * kPieceBytes; }
  std::size_t size_of(std::size_t piece) const;
  /// Hashes one piece. Thread: any, one per piece. Requires: size_of(piece) bytes.
  void take(std::size_t piece, std::span<const std::byte> bytes);
  ContentHash all() const;

 private:
  std::size_t n_bytes_;
  std::vector<ContentHash> hashes_;
};

}  // namespace lathe::engine
