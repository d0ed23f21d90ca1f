// SPDX-License-Identifier: Apache-2.0
// Keywords of JSON Schema: which are enforced, which are annotations for people, and which are refused.
// Source: JSON Schema 2020-12, core and validation; OpenAPI 3.0 for nullable and example.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lathe::engine::grammar {

enum class KeywordFate : std::uint8_t {
  enforced,
  annotation,  ///< it says nothing about which values are valid
  refused      ///< no mask can hold an answer to it, or none does yet
};

struct SchemaKeyword {
  std::string_view name;
  KeywordFate fate;
  std::string_view type = {};  ///< type of the values about which it says something; empty: all
};

/// THE TABLE of keywords.
std::span<const SchemaKeyword> schema_keywords();
/// Null: nobody knows it.
const SchemaKeyword* find_keyword(std::string_view name);

}  // namespace lathe::engine::grammar
