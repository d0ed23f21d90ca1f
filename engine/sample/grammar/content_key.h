// SPDX-License-Identifier: Apache-2.0
// Hashes of an automaton's rules by content: equal rules of two grammars share what is known of their tokens.
#pragma once

#include <cstdint>

namespace lathe::engine::grammar {

struct Automaton;

/// Mixes two numbers. Source: Steele, Lea and Flood 2014 (SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// Writes Rule::content of each rule, and the hash of the whole. `salt`: begins every hash.
void add_content_keys(Automaton& automaton, std::uint64_t salt);

}  // namespace lathe::engine::grammar
