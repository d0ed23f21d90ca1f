// SPDX-License-Identifier: Apache-2.0
// Tables with a row for weight formats, written by name and kept in the order of WeightFormat.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/api/backend.h"
#include "kernels/formats/codes/coded.h"

// All of it runs in the compiler: a function that is left would be compiled for several instruction sets under one name.
namespace lathe::kernels {

template <class T>
struct OfFormat {
  WeightFormat format;
  T value;
};

template <class T>
using ByFormat = std::array<T, kWeightFormats>;

/// Formats without a row have an empty value. Does not compile where one has two.
template <class T, std::size_t n>
consteval ByFormat<T> by_format(const OfFormat<T> (&rows)[n]) {
  ByFormat<T> table{};
  std::array<bool, kWeightFormats> has_row{};
  for (const OfFormat<T>& row : rows) {
    const auto index = static_cast<std::size_t>(row.format);
    if (has_row[index]) throw "a format has two rows";
    has_row[index] = true;
    table[index] = row.value;
  }
  return table;
}

/// The same with a row for every format.
template <class T, std::size_t n>
consteval ByFormat<T> by_every_format(const OfFormat<T> (&rows)[n]) {
  static_assert(n == kWeightFormats);
  return by_format(rows);
}

}  // namespace lathe::kernels
