// SPDX-License-Identifier: Apache-2.0
// Reads a request of the Responses API and translates it to the fields that all dialects share.
#pragma once

#include <span>
#include <string>

#include "app/server/dialect.h"
#include "app/server/dialects/openai/response_run.h"

namespace lathe::app::openai {

/// THE TABLE of the fields of a request: those of the Responses API, then known_fields().
std::span<const KnownField> response_fields();

struct ReadResponse {
  RequestBody given;
  engine::OrderedJson tools;  ///< in the form that templates read; null: none
  std::string instructions;
  bool reports_logprobs = false;
  bool truncates = false;  ///< the oldest turns are dropped until the prompt fits
  ResponseRequest request;
};

/// Also finds the previous response. Requires: the caller holds no engine lease. Errors: invalid_argument with the path of
/// the field.
engine::Result<ReadResponse> read_response(const ServerContext& context, std::string_view text);

/// Marks the fields as read that read_response() has translated.
void skip_translated_fields(const RequestFields& body);

}  // namespace lathe::app::openai
