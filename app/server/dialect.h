// SPDX-License-Identifier: Apache-2.0
// Dialect: one protocol of the server, as a table of routes, an error format and an example command.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/log.h"
#include "app/api/model_slot.h"
#include "app/api/request_log.h"
#include "app/server/answer_store.h"
#include "app/server/field_warnings.h"
#include "app/server/http/handler.h"
#include "app/server/id_source.h"
#include "app/server/request_body.h"
#include "app/server/traffic.h"
#include "engine/api/result.h"

namespace lathe::app {

/// References that the routes of every dialect use. Owns nothing.
struct ServerContext {
  ModelSlot& models;
  RequestLog& requests;
  Log& log;
  IdSource& ids;
  WarningLog& warned;
  AnswerStore& answers;
  std::atomic<std::uint64_t>& cache_epoch;  ///< number of times that clients have reset the prefix cache
  const Traffic& traffic;
  std::string model_name{};                      ///< name under which the model is served; empty: the model's own
  std::vector<std::string> other_model_names{};  ///< further names of the model
  bool any_model_name = false;                   ///< every name is the model's

  const std::string& served_name(const engine::LoadedModel& model) const {
    return model_name.empty() ? model.name : model_name;
  }
  /// Returns the served name and the further ones.
  std::vector<std::string> served_names(const engine::LoadedModel& model) const {
    std::vector<std::string> names = {served_name(model)};
    names.insert(names.end(), other_model_names.begin(), other_model_names.end());
    return names;
  }
  /// Returns the names of the model that gives vectors: those of the served model, or that of embedding_model.
  std::vector<std::string> vector_names(engine::Engine& engine) const;
  /// Checks a name that a request uses. Errors: not_found, with the names.
  engine::Result<void> check_name(std::string_view name, const std::vector<std::string>& names) const;
  engine::Result<void> check_model_name(std::string_view name, const engine::LoadedModel& model) const;
};

/// Answers a request of one route. Thread: a worker (quick routes: the I/O thread).
using RouteFunction = engine::Result<http::Reply> (*)(const ServerContext& context, const http::Request& request);

struct Route {
  std::string_view method;
  std::string_view path;  ///< "/*" at the end matches any path below, "/*/" one segment
  RouteFunction answer;
  bool quick = false;  ///< neither computes nor waits
};

struct Dialect {
  std::string_view name;
  std::string_view base_path;  ///< "/v1"
  std::span<const Route> routes;
  /// Returns the body of an error answer.
  std::string (*error_body)(const engine::Error& error, int http_status);
  /// Returns a curl command that the server answers. `key` may be empty.
  std::string (*curl)(const std::string& base_url, const std::string& model, const std::string& key);
  /// Returns such a command for a model that gives vectors alone; null: no route of the dialect answers it.
  std::string (*vector_curl)(const std::string& base_url, const std::string& model, const std::string& key) = nullptr;
  /// Field of answers, besides x-request-id, in which the dialect's clients look for the id of the request; empty: none.
  std::string_view request_id_field = {};
  /// Errors of unknown paths that begin with it have this dialect's format; empty: none has.
  std::string_view path_prefix = {};
  /// Bodies are read as JSON whatever Content-Type says, as the protocol's own server does.
  bool any_media_type = false;
};

/// All dialects. An error outside of every dialect has the format of the first.
std::span<const Dialect* const> dialects();

/// Returns the loaded engine, held for one call. Errors: unavailable, with advice.
engine::Result<EngineLease> lease_engine(const ServerContext& context);
/// Returns the loaded engine for a route that generates text. Errors: as lease_engine(); invalid_argument at "model" for an
/// encoder.
engine::Result<EngineLease> lease_generator(const ServerContext& context);

/// Returns the warnings of all ignored fields, and logs each field once.
std::vector<FieldWarning> all_warnings(const ServerContext& context, const RequestFields& body, const RequestBody& given);

/// Returns the row of a request for the table of requests, before it begins.
RequestRecord request_row(const http::RequestHead& head);

}  // namespace lathe::app
