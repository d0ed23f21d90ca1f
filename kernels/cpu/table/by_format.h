// SPDX-License-Identifier: Apache-2.0
// Tables with a row per weight format: written by name, stored in the order of WeightFormat.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/api/backend.h"
#include "kernels/formats/codes/coded.h"

// Everything is evaluated at compile time: a function that remained would be compiled for several instruction sets under one
// name.
namespace lathe::kernels {

template <class T>
struct OfFormat {
  WeightFormat format;
  T value;
};

template <class T>
using ByFormat = std::array<T, kWeightFormats>;

/// Builds a table. Formats without a row have an empty value; a format with two rows does not compile.
template <class T, std::size_t n>
consteval ByFormat<T> by_format(const OfFormat<T> (&rows)[n]) {
  ByFormat<T> table{};
  std::array<bool, kWeightFormats> has_row{};
  for (const OfFormat<T>& row : rows) {
    const auto index = static_cast<std::size_t>(row.format);
    if (has_row[index]) throw "a format has two rows in the table";
    has_row[index] = true;
    table[index] = row.value;
  }
  return table;
}

/// Like by_format(), with a row for every format.
template <class T, std::size_t n>
consteval ByFormat<T> by_every_format(const OfFormat<T> (&rows)[n]) {
  static_assert(n == kWeightFormats);
  return by_format(rows);
}

}  // namespace lathe::kernels
