// SPDX-License-Identifier: Apache-2.0
// Names under which other systems know values of the option `quantization`.
#pragma once

#include <span>
#include <string_view>

namespace lathe::engine {

struct QuantizationAlias {
  std::string_view name;
  std::string_view quantization;           ///< our name
  std::string_view bnb_4bit_quant_type{};  ///< what it says beside; empty: nothing
  std::string_view source;                 ///< who calls it so
};

/// A name of another system for what no quantization of ours is.
struct ForeignQuantization {
  std::string_view name;
  std::string_view source;   ///< who calls it so
  std::string_view meaning;  ///< what it does
  std::string_view nearest;  ///< our name for what comes nearest; empty: nothing does
};

/// THE TABLE.
std::span<const QuantizationAlias> quantization_aliases();
/// Null: no other name of anything.
const QuantizationAlias* find_quantization_alias(std::string_view name);
std::span<const ForeignQuantization> foreign_quantizations();
/// Null: it is ours, an alias, or a name that nobody uses.
const ForeignQuantization* find_foreign_quantization(std::string_view name);
/// Names of ways in which a checkpoint is stored, which no load can be asked for: "gptq". Without those that are also a
/// quantization in flight.
std::span<const std::string_view> stored_schemes();

}  // namespace lathe::engine
