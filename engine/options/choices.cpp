// SPDX-License-Identifier: Apache-2.0
#include "engine/options/choices.h"

#include "engine/api/answer_parser.h"
#include "kernels/api/backend.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kAuto = "auto", kNoQuantization = "none";

/// `first`, then the name of each entry of the table.
template <class Table>
Choices with_names(Choices first, const Table& table) {
  for (const auto& entry : table) {
    if constexpr (requires { entry->name; }) {
      first.push_back(entry->name);
    } else {
      first.push_back(entry.name);
    }
  }
  return first;
}

Choices joined(Choices first, const Choices& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

Choices policy_choices(std::span<const PolicyDescriptor* const> policies) { return with_names({}, policies); }

Choices quantization_choices(std::span<const Quantization> quantizations) {
  return with_names({kNoQuantization}, quantizations);
}

Choices bnb_4bit_quant_type_choices(std::span<const Bnb4bitType> types) { return with_names({}, types); }

Choices dtype_choices(std::span<const kernels::Dtype> dtypes) {
  Choices choices = {kAuto};
  for (const kernels::Dtype dtype : dtypes) choices.push_back(kernels::name_of(dtype));
  return choices;
}

Choices device_choices(std::span<const Device> devices) { return with_names({}, devices); }

Choices isa_choices(std::span<const std::string_view> isas) { return joined({""}, {isas.begin(), isas.end()}); }

Choices tool_call_parser_choices(std::span<const CallFormat* const> formats) {
  return joined({kParserOfTemplate, kNoParser}, all_names_of(formats));
}

Choices reasoning_parser_choices(std::span<const ReasoningFormat> formats) {
  return with_names({kParserOfTemplate, kNoParser}, formats);
}

Choices policy_choices() { return policy_choices(policy_table()); }
Choices quantization_choices() { return quantization_choices(quantizations()); }
Choices bnb_4bit_quant_type_choices() { return bnb_4bit_quant_type_choices(bnb_4bit_types()); }
Choices compute_dtype_choices() { return dtype_choices(kernels::kFloatingDtypes); }
Choices kv_cache_dtype_choices() { return dtype_choices(kernels::kKvDtypes); }
Choices device_choices() { return device_choices(devices()); }
Choices isa_choices() { return isa_choices(kernels::all_cpu_isas()); }
Choices tool_call_parser_choices() { return tool_call_parser_choices(call_formats()); }
Choices reasoning_parser_choices() { return reasoning_parser_choices(reasoning_formats()); }

}  // namespace lathe::engine
