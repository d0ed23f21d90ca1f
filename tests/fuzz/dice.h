// SPDX-License-Identifier: Apache-2.0
// Dice: choices of a mutation, the same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lathe::fuzz {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}

  std::size_t below(std::size_t n) { return n == 0 ? 0 : engine_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  template <class List>
  auto& one_of(List& list) {
    return list[below(std::size(list))];
  }

  /// Small ones mostly, and those at which sizes and their products wrap.
  std::uint64_t number() {
    constexpr std::uint64_t kEdges[] = {0x7F,       0x80,       0xFF,       0x100,       0x7FFF,     0xFFFF,
                                        0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 1ULL << 40, 0x7FFFFFFFFFFFFFC0,
                                        INT64_MAX,  1ULL << 63, UINT64_MAX};
    switch (below(8)) {
      case 0: return one_of(kEdges);
      case 1: return one_of(kEdges) + below(3) - 1;
      case 2: return engine_();
      case 3: return 32 * below(64);
      default: return below(18);
    }
  }

  /// A text with a few bytes more, fewer or others.
  void change(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0: text.erase(at, 1 + below(4)); break;
      case 1: text.insert(at, 1, static_cast<char>(engine_())); break;
      case 2: text.insert(at, text.substr(below(text.size() + 1), below(16))); break;
      case 3: text.resize(at); break;
      case 4: text.insert(at, "\xE2\x96\x81"); break;  // the blank of SentencePiece
      default:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
    }
  }

  template <class T>
  void remove_one(std::vector<T>& list) {
    if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
  }
  template <class T>
  void repeat_one(std::vector<T>& list) {
    if (list.empty()) return;
    T copy = list[below(list.size())];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), std::move(copy));
  }

 private:
  std::mt19937 engine_;
};

}  // namespace lathe::fuzz
