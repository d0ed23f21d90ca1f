// SPDX-License-Identifier: Apache-2.0
// Choices of options: the names of the entries of the table that reads the option, in the table's order. Tables are
// arguments, so that a test can add an entry; the functions without arguments read the program's tables.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/model/weight_storage.h"
#include "engine/run/open_backend.h"
#include "engine/schedule/policies.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/reasoning_format.h"
#include "kernels/api/dtype.h"

namespace lathe::engine {

using Choices = std::vector<std::string_view>;

Choices policy_choices(std::span<const PolicyDescriptor* const> policies);
/// "none", then the table.
Choices quantization_choices(std::span<const Quantization> quantizations);
Choices bnb_4bit_quant_type_choices(std::span<const Bnb4bitType> types);
/// "auto", then the types.
Choices dtype_choices(std::span<const kernels::Dtype> dtypes);
Choices device_choices(std::span<const Device> devices);
/// The empty choice, then the names.
Choices isa_choices(std::span<const std::string_view> isas);
/// "auto", "none", then each format's name with its other names.
Choices tool_call_parser_choices(std::span<const CallFormat* const> formats);
/// "auto", "none", then the names.
Choices reasoning_parser_choices(std::span<const ReasoningFormat> formats);

Choices policy_choices();
Choices quantization_choices();
Choices bnb_4bit_quant_type_choices();
Choices compute_dtype_choices();
Choices kv_cache_dtype_choices();
Choices device_choices();
Choices isa_choices();
Choices tool_call_parser_choices();
Choices reasoning_parser_choices();

}  // namespace lathe::engine
