// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "app/server/dialects/anthropic/anthropic.h"

namespace lathe::app::anthropic {
namespace {

using enum FieldFate;

// Fields of the Messages API, and fields of other servers that its answers have no member for.
constexpr KnownField kMessagesFields[] = {
    {.name = "system", .fate = served},
    {.name = "output_config", .fate = served},
    {.name = "output_format", .fate = served},
    {.name = "mcp_servers", .fate = refused},
    {.name = "container", .fate = refused},
    {.name = "suffix", .fate = refused},
    {.name = "echo", .fate = refused},
    {.name = "n", .fate = refused, .neutral = "1"},
    {.name = "best_of", .fate = refused, .neutral = "1"},
    {.name = "logprobs", .fate = refused},
    {.name = "top_logprobs", .fate = refused, .neutral = "0"},
    {.name = "prompt_logprobs", .fate = refused},
    {.name = "return_token_ids", .fate = refused},
    {.name = "return_tokens_as_token_ids", .fate = refused},
    {.name = "context_management", .fate = warned},
    {.name = "speed", .fate = warned, .neutral = R"("standard")"},
    {.name = "cache_control", .fate = harmless},
    {.name = "diagnostics", .fate = harmless},
    {.name = "inference_geo", .fate = harmless},
    {.name = "user_profile_id", .fate = harmless},
    {.name = "workspace_id", .fate = harmless},
};

}  // namespace

std::span<const KnownField> request_fields() {
  static const std::vector<KnownField> fields = dialect_fields(kMessagesFields);
  return fields;
}

}  // namespace lathe::app::anthropic
