// SPDX-License-Identifier: Apache-2.0
#include "app/server/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "app/server/access.h"
#include "app/server/base_url.h"
#include "app/server/http/listener.h"
#include "app/server/port_owner.h"
#include "app/server/router.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;

http::Limits http_limits(const ServerLimits& limits) {
  http::Limits out;
  out.body_bytes = static_cast<std::size_t>(limits.body_bytes);
  out.header_lines = static_cast<std::size_t>(limits.header_lines);
  out.header_bytes = static_cast<std::size_t>(limits.header_bytes);
  out.header_timeout = std::chrono::seconds(limits.header_timeout_s);
  out.body_idle_timeout = std::chrono::seconds(limits.body_idle_timeout_s);
  out.write_stall_timeout = std::chrono::seconds(limits.write_stall_timeout_s);
  out.idle_timeout = std::chrono::seconds(limits.idle_timeout_s);
  out.stream_silence = std::chrono::seconds(limits.sse_keep_alive_interval_s);
  out.connections = static_cast<std::size_t>(limits.connections);
  return out;
}

engine::Result<void> check(const ServerOptions& options) {
  if (!is_loopback(options.host) && options.api_key.empty()) {
    return engine::fail(
        ErrorCode::invalid_argument,
        "listening on " + options.host + " is reachable from other machines: set an API key, or listen on 127.0.0.1",
        "api_key");
  }
  const ServerLimits& limits = options.limits;
  const auto least =
      std::min({limits.body_bytes, limits.header_bytes, static_cast<std::int64_t>(limits.header_lines),
                static_cast<std::int64_t>(limits.connections), static_cast<std::int64_t>(limits.header_timeout_s),
                static_cast<std::int64_t>(limits.body_idle_timeout_s),
                static_cast<std::int64_t>(limits.write_stall_timeout_s), static_cast<std::int64_t>(limits.idle_timeout_s)});
  if (least < 1) return engine::fail(ErrorCode::invalid_argument, "every limit of the server must be at least 1", "limits");
  if (limits.sse_keep_alive_interval_s < 0) {
    return engine::fail(ErrorCode::invalid_argument, "must be a number of seconds, or 0 for no comments",
                        "sse_keep_alive_interval");
  }
  return {};
}

class HttpServer final : public Server {
 public:
  HttpServer(ModelSlot& models, RequestLog& requests, Log& log) : models_(models), requests_(requests), log_(log) {}
  ~HttpServer() override { stop(0); }

  engine::Result<void> start(const ServerOptions& options) override;
  void stop(int grace_ms) override;
  ServerStatus status() const override;

 private:
  engine::Result<void> open(const ServerOptions& options);
  engine::Error named(engine::Error error, const ServerOptions& options, std::uint16_t& free_port) const;

  ModelSlot& models_;
  RequestLog& requests_;
  Log& log_;
  IdSource ids_;
  WarningLog warned_;
  std::atomic<std::uint64_t> cache_epoch_{0};
  AnswerStore answers_;  ///< outlives a listener: its answers are there after a restart

  std::mutex control_;        // held by start and stop, which run one at a time; stop may take its grace period
  mutable std::mutex mutex_;  // protects the members that follow
  ServerOptions options_;
  ServerStatus status_;
  std::unique_ptr<Traffic> traffic_ = std::make_unique<Traffic>();
  std::unique_ptr<Router> router_;
  std::unique_ptr<http::Listener> listener_;
};

engine::Result<void> HttpServer::start(const ServerOptions& options) {
  const std::lock_guard control(control_);
  {
    const std::lock_guard lock(mutex_);
    if (listener_ != nullptr)
      return engine::fail(ErrorCode::conflict, "the server is already running on port " + std::to_string(status_.port));
    options_ = options;
    status_ = ServerStatus{};
    status_.state = ServerState::starting;
    status_.host = options.host;
    status_.port = options.port;
  }
  const auto opened = open(options);
  if (opened) return opened;
  std::uint16_t free_port = 0;
  const engine::Error error = named(opened.error(), options, free_port);
  const std::lock_guard lock(mutex_);
  status_.state = ServerState::failed;
  status_.error = error.message;
  status_.free_port = free_port;
  return tl::unexpected(error);
}

engine::Result<void> HttpServer::open(const ServerOptions& options) {
  LATHE_TRY_VOID(check(options));
  auto traffic = std::make_unique<Traffic>();
  ServerContext context{models_,
                        requests_,
                        log_,
                        ids_,
                        warned_,
                        answers_,
                        cache_epoch_,
                        *traffic,
                        options.model_name,
                        options.other_model_names,
                        options.any_model_name};
  auto router = std::make_unique<Router>(options, std::move(context), *traffic);
  http::ListenerOptions listen;
  listen.host = options.host;
  listen.port = options.port;
  listen.limits = http_limits(options.limits);
  listen.on_trouble = [this](const std::string& trouble) { log_.warning("server", trouble); };
  LATHE_TRY(auto listener, http::Listener::open(listen, *router));
  const std::lock_guard lock(mutex_);
  traffic_ = std::move(traffic);
  router_ = std::move(router);
  listener_ = std::move(listener);
  status_.state = ServerState::running;
  status_.port = listener_->port();
  status_.since_unix_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  // Avoids the words "listening on": other programs take them for a served model, which may still be loading here.
  const std::string until = models_.lease() ? "" : "; until a model is loaded, /health answers 503";
  log_.info("server", "port " + std::to_string(status_.port) + " is open" + until);
  return {};
}

/// Adds to the error of a taken port the process that has it, and a free port.
engine::Error HttpServer::named(engine::Error error, const ServerOptions& options, std::uint16_t& free_port) const {
  if (error.code != ErrorCode::conflict) return error;
  error.message = "Port " + std::to_string(options.port) + " is ";
  const auto owner = find_port_owner(options.port);
  error.message += owner ? "used by " + owner->name + " (" + std::to_string(owner->pid) + ")" : "used by another process";
  free_port =
      options.port < 65535 ? find_free_port(options.host, static_cast<std::uint16_t>(options.port + 1)) : std::uint16_t{0};
  if (free_port != 0) error.message += "; port " + std::to_string(free_port) + " is free";
  return error;
}

void HttpServer::stop(int grace_ms) {
  const std::lock_guard control(control_);
  http::Listener* listener = nullptr;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_.get();
    if (listener != nullptr) status_.state = ServerState::stopping;
  }
  if (listener == nullptr) return;
  listener->stop(std::chrono::milliseconds(std::max(grace_ms, 0)));
  answers_.stop();
  const std::lock_guard lock(mutex_);
  listener_.reset();
  router_.reset();
  status_.state = ServerState::off;
  log_.info("server", "stopped");
}

ServerStatus HttpServer::status() const {
  std::string model;
  bool generates = true;
  // Only while the model is ready: a lease delays an unload.
  if (models_.status().state == ModelState::ready) {
    if (const EngineLease lease = models_.lease()) {
      model = lease->model().name;
      generates = lease->model().generates;
    }
  }
  const std::lock_guard lock(mutex_);
  ServerStatus status = status_;
  status.n_requests = traffic_->all();
  status.n_errors = traffic_->errors();
  status.n_connections = listener_ != nullptr ? listener_->n_connections() : 0;
  if (!model.empty() && !options_.model_name.empty()) model = options_.model_name;
  ServerOptions options = options_;
  if (status.port != 0) options.port = status.port;
  status.dialects = known_dialects(options, model, generates);
  for (std::size_t i = 0; i < status.dialects.size(); ++i) {
    status.dialects[i].on = status.dialects[i].on && status.state == ServerState::running;
    status.dialects[i].n_requests = traffic_->of_dialect(i);
  }
  return status;
}

}  // namespace

std::unique_ptr<Server> make_server(ModelSlot& models, RequestLog& requests, Log& log) {
  return std::make_unique<HttpServer>(models, requests, log);
}

std::vector<DialectState> known_dialects(const ServerOptions& options, const std::string& model_name, bool generates) {
  std::vector<DialectState> states;
  for (const Dialect* dialect : dialects()) {
    DialectState state;
    state.name = dialect->name;
    state.base_url = base_url(options.host, options.port) + std::string(dialect->base_path);
    const bool shows_vectors = !generates && dialect->vector_curl != nullptr;
    state.curl = (shows_vectors ? dialect->vector_curl : dialect->curl)(state.base_url, model_name, options.api_key);
    state.on =
        std::find(options.dialects_off.begin(), options.dialects_off.end(), dialect->name) == options.dialects_off.end();
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace lathe::app
