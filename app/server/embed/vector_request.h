// SPDX-License-Identifier: Apache-2.0
// Shares among the dialects what each request for vectors begins with: the table of fields, the model, the submission.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/server/embed/text_input.h"
#include "app/server/embed/vector_reply.h"
#include "app/server/request_body.h"

namespace lathe::app {

/// THE TABLE of the fields of requests for vectors, scores and ranks: those of OpenAI, vLLM, Jina, Cohere and Ollama.
std::span<const KnownField> vector_fields();

/// Checks that the request names the model of the vectors, or no model. `tag`: ending that clients may add to the name.
/// Errors: not_found.
engine::Result<void> check_vector_model(RequestFields& body, const ServerContext& context, engine::Engine& engine,
                                        std::string_view tag = {});

/// Returns the name in answers of the model of the vectors.
std::string vector_model_name(const ServerContext& context, engine::Engine& engine);

/// Refuses and warns of the fields that no one has read. Errors: the first one of `body`.
engine::Result<std::vector<FieldWarning>> end_reading(const ServerContext& context, RequestFields& body,
                                                      const RequestBody& given);

/// Submits the texts and returns the reply that `form` writes. Errors: those of Engine::submit.
engine::Result<http::Reply> submit_texts(const ServerContext& context, const http::Request& request,
                                         const EngineLease& lease, std::vector<VectorText> texts,
                                         const engine::PoolingParams& pooling, VectorForm form);

/// Returns texts that are no pairs.
std::vector<VectorText> single_texts(std::vector<std::vector<std::int32_t>> texts);

/// Returns {"prompt_tokens": n, "total_tokens": n}.
engine::OrderedJson usage_of(const VectorSet& set);

}  // namespace lathe::app
