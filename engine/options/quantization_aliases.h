// SPDX-License-Identifier: Apache-2.0
// Lists the names that other systems use for values of the option `quantization`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace lathe::engine {

struct QuantizationAlias {
  std::string_view name;
  std::string_view quantization;           ///< Lathe's name
  std::string_view bnb_4bit_quant_type{};  ///< set as well; empty: left unchanged
  std::string_view source;                 ///< the system that uses the name
};

/// Another system's name for a quantization that Lathe does not have.
struct ForeignQuantization {
  std::string_view name;
  std::string_view source;   ///< the system that uses the name
  std::string_view meaning;  ///< a description of the method
  std::string_view nearest;  ///< Lathe's name of the nearest quantization; empty: none is near
};

/// THE TABLE of aliases.
std::span<const QuantizationAlias> quantization_aliases();
/// The alias of this name, or null.
const QuantizationAlias* find_quantization_alias(std::string_view name);
std::span<const ForeignQuantization> foreign_quantizations();
/// The foreign quantization of this name; null for Lathe's names, aliases and unknown names.
const ForeignQuantization* find_foreign_quantization(std::string_view name);
/// Names of storage schemes of checkpoints, which a load cannot be asked for: "gptq". The methods of the table of
/// quantization schemes and vLLM's names for kernels that read them; names that also mean a quantization at load are not
/// included.
std::vector<std::string_view> stored_schemes();

}  // namespace lathe::engine
