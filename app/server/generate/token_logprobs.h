// SPDX-License-Identifier: Apache-2.0
// Writes the log probabilities of an answer's tokens as the chats of all protocols do.
#pragma once

#include "app/server/generate/answer_plan.h"

namespace lathe::app {

/// Returns a value that JSON can hold: -9999 for minus infinity, as OpenAI writes "very unlikely".
double finite_logprob(float logprob);

/// Returns [{"token", "logprob", "bytes", "top_logprobs": [...]}, ...], with n_top alternatives of each token.
engine::OrderedJson token_logprobs(const TokenNames& names, const engine::TokenEvent& event, std::int64_t n_top);

}  // namespace lathe::app
