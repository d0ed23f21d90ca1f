// SPDX-License-Identifier: Apache-2.0
// LATHE_TABLE: a table whose entries have files of their own. An entry's file defines one constant with external linkage,
//
//   extern constexpr PolicyDescriptor kPagedPolicy{.name = "paged", ...};
//
// and the table's .cpp, at namespace scope, has one line for each entry, which declares it and adds it to the table:
//
//   LATHE_TABLE(PolicyDescriptor, kPolicies,
//     kPagedPolicy,
//     kStaticPolicy,
//   );
//
// kPolicies is then a constexpr std::array<const PolicyDescriptor*, 2>. No other file names the entry.
#pragma once

#include <array>
#include <cstddef>

namespace lathe::engine {

/// The address of an entry, taken from its name.
template <class Entry>
struct TableRow {
  constexpr TableRow(const Entry& named) : entry(&named) {}  // NOLINT(google-explicit-constructor): a row is its name
  const Entry* entry;
};

template <class Entry, std::size_t n>
consteval std::array<const Entry*, n> table_of(const TableRow<Entry> (&&rows)[n]) {
  std::array<const Entry*, n> table{};
  for (std::size_t i = 0; i < n; ++i) table[i] = rows[i].entry;
  return table;
}

}  // namespace lathe::engine

// The first line declares the entries. Its last name takes the place after the last comma, and is never defined or used.
#define LATHE_TABLE(Entry, name, ...)        \
  extern const Entry __VA_ARGS__ name##_end; \
  constexpr auto name = ::lathe::engine::table_of<Entry>({__VA_ARGS__})
