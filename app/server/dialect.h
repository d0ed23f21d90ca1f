// SPDX-License-Identifier: Apache-2.0
// Dialect: one protocol that other programs speak, as routes, an error shape and an example.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/api/log.h"
#include "app/api/model_slot.h"
#include "app/api/request_log.h"
#include "app/server/field_warnings.h"
#include "app/server/http/handler.h"
#include "app/server/id_source.h"
#include "app/server/request_body.h"
#include "app/server/traffic.h"
#include "engine/api/result.h"

namespace lathe::app {

/// What the routes of every dialect work with. Owns nothing.
struct ServerContext {
  ModelSlot& models;
  RequestLog& requests;
  Log& log;
  IdSource& ids;
  WarningLog& warned;
  const Traffic& traffic;
  std::string model_name{};  ///< under which the model is served; empty: its own

  const std::string& served_name(const engine::LoadedModel& model) const {
    return model_name.empty() ? model.name : model_name;
  }
};

/// Thread: a worker (quick routes: the I/O thread).
using RouteFunction = engine::Result<http::Reply> (*)(const ServerContext& context, const http::Request& request);

struct Route {
  std::string_view method;
  std::string_view path;  ///< ending in "/*": anything below
  RouteFunction answer;
  bool quick = false;  ///< neither computes nor waits
};

struct Dialect {
  std::string_view name;
  std::string_view base_path;  ///< "/v1"
  std::span<const Route> routes;
  /// The body of an error answer.
  std::string (*error_body)(const engine::Error& error, int http_status);
  /// A command that answers as it stands. `key` may be empty.
  std::string (*curl)(const std::string& base_url, const std::string& model, const std::string& key);
};

/// Every dialect. An error that belongs to none has the shape of the first.
std::span<const Dialect* const> dialects();

/// The loaded engine, held for one call. Errors: unavailable, with what to do.
engine::Result<EngineLease> lease_engine(const ServerContext& context);

/// Warnings of the fields that the answer will not obey. Logs each field once.
std::vector<FieldWarning> all_warnings(const ServerContext& context, const RequestFields& body, const RequestBody& given);

/// The row of a request in the table of requests, before it is begun.
RequestRecord request_row(const http::RequestHead& head);

}  // namespace lathe::app
