// SPDX-License-Identifier: Apache-2.0
// GET /health, GET /version and POST /reset_prefix_cache
#include "app/api/workbench.h"
#include "app/server/dialects/openai/openai.h"
#include "engine/api/json.h"

namespace lathe::app::openai {

/// Empty body, as in vLLM; 200 if requests can be answered.
engine::Result<http::Reply> answer_health(const ServerContext& context, const http::Request&) {
  const ModelStatus status = context.models.status();
  if (status.state == ModelState::ready) {
    if (const EngineLease lease = context.models.lease()) {
      if (const auto failure = lease->failure()) return tl::unexpected(*failure);
    }
    return http::Response{200, "", {}, {}};
  }
  return engine::fail(engine::ErrorCode::unavailable,
                      status.state == ModelState::loading ? "the model is being loaded" : "no model is loaded");
}

/// Requests from now on find no prefix that was cached before. The blocks of these prefixes are given to other sequences
/// when those need them.
engine::Result<http::Reply> answer_reset_prefix_cache(const ServerContext& context, const http::Request&) {
  ++context.cache_epoch;
  return http::Response{200, "", {}, {}};
}

engine::Result<http::Reply> answer_version(const ServerContext&, const http::Request&) {
  return http::Response{200, "application/json", {}, engine::dump_json(engine::OrderedJson{{"version", version()}})};
}

}  // namespace lathe::app::openai
