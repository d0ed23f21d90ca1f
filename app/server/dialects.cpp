// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "app/log/printable.h"
#include "app/server/dialect.h"
#include "engine/api/table.h"

namespace lathe::app {

// THE TABLE of dialects: one folder in dialects/ and one line here for each.
LATHE_TABLE(Dialect, kDialects,
  kOpenaiDialect,
  kAnthropicDialect,
  kOllamaDialect,
);

namespace {

using engine::ErrorCode;

std::string progress_of(const ModelStatus& status) {
  const engine::LoadProgress& progress = status.progress;
  if (progress.bytes_total <= 0) return {};
  return " (" + std::to_string(100 * progress.bytes_done / progress.bytes_total) + " %)";
}

}  // namespace

std::span<const Dialect* const> dialects() { return kDialects; }

std::vector<std::string> ServerContext::vector_names(engine::Engine& engine) const {
  engine::Engine& embedder = engine.embedder();
  if (&embedder == &engine) return served_names(engine.model());
  return {embedder.model().name};
}

engine::Result<void> ServerContext::check_model_name(std::string_view name, const engine::LoadedModel& model) const {
  return check_name(name, served_names(model));
}

engine::Result<void> ServerContext::check_name(std::string_view name, const std::vector<std::string>& names) const {
  if (any_model_name || std::find(names.begin(), names.end(), name) != names.end()) return {};
  return engine::fail(
      ErrorCode::not_found,
      fmt::format("The model `{}` does not exist; this server has `{}`.", printable(name, 100), fmt::join(names, "`, `")),
      "model");
}

engine::Result<EngineLease> lease_engine(const ServerContext& context) {
  EngineLease lease = context.models.lease();
  if (lease) return lease;
  const ModelStatus status = context.models.status();
  const auto unavailable = [](std::string message) {
    return engine::fail(engine::ErrorCode::unavailable, std::move(message));
  };
  if (status.n_finishing > 0)
    return unavailable(fmt::format("the model finishes {} running requests before it is unloaded", status.n_finishing));
  if (status.state == ModelState::loading)
    return unavailable("the model is being loaded" + progress_of(status) + "; try again in a moment");
  if (status.state == ModelState::failed) return unavailable("the model could not be loaded; the server's log says why");
  return unavailable("no model is loaded; open one in the window or start \"lathe serve --model DIR\"");
}

engine::Result<EngineLease> lease_generator(const ServerContext& context) {
  LATHE_TRY(EngineLease lease, lease_engine(context));
  if (lease->model().generates) return lease;
  return engine::fail(ErrorCode::invalid_argument,
                      fmt::format("{} is an encoder, which gives vectors and writes no text: send texts to POST "
                                  "/v1/embeddings, /score or /rerank, or serve a model that generates",
                                  context.served_name(lease->model())),
                      "model");
}

std::vector<FieldWarning> all_warnings(const ServerContext& context, const RequestFields& body, const RequestBody& given) {
  std::vector<FieldWarning> all = given.warnings();
  for (FieldWarning warning : body.warnings()) {
    warning.field = given.in_given_names({{}, {}, std::move(warning.field)}).where;
    all.push_back(std::move(warning));
  }
  context.warned.write(context.log, all);
  return all;
}

RequestRecord request_row(const http::RequestHead& head) {
  using namespace std::chrono;
  RequestRecord row;
  row.unix_ms = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  row.submitted_ns = duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
  const std::string_view agent = head.value("User-Agent");
  row.client = printable(agent.empty() ? std::string_view(head.peer_address) : agent, 120);
  row.route = printable(head.path, 120);
  row.source = "server";
  return row;
}

}  // namespace lathe::app
