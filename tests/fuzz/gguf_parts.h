// SPDX-License-Identifier: Apache-2.0
// GgufParts: a GGUF file taken apart, to be put together again with one part changed. It shares nothing with the reader
// that is tested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::fuzz {

struct GgufParts {
  static constexpr std::uint32_t kText = 8, kList = 9, kTypes = 13;

  struct Value {
    std::string key;
    bool is_list = false;
    std::uint32_t type = 0;
    std::vector<std::string> items;  ///< one unless it is a list; a text without its length
    std::uint64_t n_untrue = 0;      ///< added to the number of items that the file tells
  };
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
  };

  /// Bytes of one item; of a text 0.
  static std::size_t size_of(std::uint32_t type);
  /// Nothing where a part does not end within the file.
  static std::optional<GgufParts> of(std::string_view file);
  std::string bytes() const;

  std::uint32_t version = 3;
  std::vector<Value> values;
  std::vector<Tensor> tensors;
  std::string data;
  std::uint64_t n_values_untrue = 0, n_tensors_untrue = 0;
};

}  // namespace lathe::fuzz
