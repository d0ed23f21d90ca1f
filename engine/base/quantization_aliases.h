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

/// THE TABLE.
std::span<const QuantizationAlias> quantization_aliases();
/// Null: no other name of anything.
const QuantizationAlias* find_quantization_alias(std::string_view name);
/// Names of ways in which a checkpoint is stored, which no load can be asked for: "gptq". Without those that are also a
/// quantization in flight.
std::span<const std::string_view> stored_schemes();

}  // namespace lathe::engine
