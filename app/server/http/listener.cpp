// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/listener.h"

#include <pthread.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <system_error>
#include <thread>

#include "app/server/http/async_result.h"
#include "app/server/http/connection.h"

namespace lathe::app::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using engine::ErrorCode;

constexpr int kBacklog = 4096;  // the kernel's default of 128 overflows when many clients connect at once
constexpr std::chrono::milliseconds kAcceptPause{50};   // pause when no file descriptors are left
constexpr std::chrono::milliseconds kFlushTime{1'000};  // time for interrupted requests to send their errors

engine::Result<tcp::endpoint> resolve(const ListenerOptions& options) {
  error_code error;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error)
    return engine::fail(
        ErrorCode::invalid_argument,
        "\"" + options.host + "\" is not a numeric address; use 127.0.0.1, ::1, 0.0.0.0 or an address of this machine",
        "host");
  return tcp::endpoint(address, options.port);
}

engine::Error bind_error(const error_code& error, const ListenerOptions& options) {
  const std::string port = std::to_string(options.port);
  if (error == asio::error::address_in_use) return {ErrorCode::conflict, "port " + port + " is in use", "port"};
  if (error == asio::error::access_denied)
    return {ErrorCode::forbidden, "port " + port + " is reserved for the system; choose one from 1024 to 65535", "port"};
  if (error == boost::system::errc::address_not_available)
    return {ErrorCode::invalid_argument, "this machine does not have the address " + options.host, "host"};
  return {ErrorCode::invalid_argument, "cannot listen on " + options.host + ":" + port + ": " + error.message(), "host"};
}

class AsioListener final : public Listener {
 public:
  AsioListener(const ListenerOptions& options, Handler& handler)
      : options_(options),
        workers_(options.n_workers),
        hub_{handler, workers_, options.limits},
        acceptor_(io_),
        guard_(io_.get_executor()) {}
  ~AsioListener() override { stop(std::chrono::milliseconds(0)); }

  engine::Result<void> listen();
  void start();
  std::uint16_t port() const override { return port_; }
  int n_connections() const override { return n_connections_.load(std::memory_order_relaxed); }
  void stop(std::chrono::milliseconds grace) override;

 private:
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(tcp::socket socket);
  asio::awaitable<void> shut_down(std::chrono::milliseconds grace);
  asio::awaitable<bool> emptied(std::chrono::milliseconds patience);
  void report(const std::string& trouble) const {
    if (options_.on_trouble) options_.on_trouble(trouble);
  }
  /// Returns a copy: closing a connection may change the set.
  std::vector<std::shared_ptr<Connection>> connections() const;

  const ListenerOptions options_;
  asio::io_context io_{1};
  WorkerPool workers_;
  ConnectionHub hub_;
  tcp::acceptor acceptor_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::uint16_t port_ = 0;
  std::atomic<int> n_connections_{0};
  std::jthread thread_;
  bool stopped_ = false;
};

engine::Result<void> AsioListener::listen() {
  LATHE_TRY(const tcp::endpoint endpoint, resolve(options_));
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (error) return tl::unexpected(bind_error(error, options_));
  port_ = acceptor_.local_endpoint(error).port();
  return {};
}

void AsioListener::start() {
  asio::co_spawn(io_, accept(), asio::detached);
  thread_ = std::jthread([this] { io_.run(); });
  pthread_setname_np(thread_.native_handle(), "lathe-http");
}

asio::awaitable<void> AsioListener::accept() {
  asio::steady_timer pause(io_);
  bool short_of_descriptors = false;
  while (!hub_.stopping) {
    auto [error, socket] = co_await acceptor_.async_accept(kResult);
    if (hub_.stopping) co_return;
    if (error) {
      // A client that left before it was accepted is ignored; without descriptors further clients wait in the backlog.
      if (error != asio::error::connection_aborted) {
        if (!short_of_descriptors) report("cannot accept connections: " + error.message());
        short_of_descriptors = true;
        pause.expires_after(kAcceptPause);
        co_await pause.async_wait(kResult);
      }
      continue;
    }
    short_of_descriptors = false;
    if (hub_.connections.size() >= options_.limits.connections) {
      const Response busy = hub_.handler.refuse(
          nullptr, {503, "all " + std::to_string(options_.limits.connections) + " connections are in use"});
      const std::string bytes =
          response_head(busy, "Content-Length: " + std::to_string(busy.body.size()), false, 1) + busy.body;
      socket.non_blocking(true, error);
      socket.write_some(asio::buffer(bytes), error);  // the empty send buffer of a new socket takes all of it
      continue;
    }
    asio::co_spawn(io_, serve(std::move(socket)), asio::detached);
  }
}

asio::awaitable<void> AsioListener::serve(tcp::socket socket) {
  const auto connection = Connection::make(std::move(socket), hub_);
  hub_.connections.insert(connection.get());
  n_connections_.store(static_cast<int>(hub_.connections.size()), std::memory_order_relaxed);
  try {
    co_await connection->run();
  } catch (const std::exception& error) {
    report(std::string("an exception ended a connection: ") + error.what());
  }
  connection->close();
  hub_.connections.erase(connection.get());
  n_connections_.store(static_cast<int>(hub_.connections.size()), std::memory_order_relaxed);
}

std::vector<std::shared_ptr<Connection>> AsioListener::connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  for (Connection* connection : hub_.connections) all.push_back(connection->shared_from_this());
  return all;
}

asio::awaitable<bool> AsioListener::emptied(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds interval{5};
  asio::steady_timer timer(io_);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!hub_.connections.empty() && std::chrono::steady_clock::now() < until) {
    timer.expires_after(interval);
    co_await timer.async_wait(kResult);
  }
  co_return hub_.connections.empty();
}

asio::awaitable<void> AsioListener::shut_down(std::chrono::milliseconds grace) {
  hub_.stopping = true;
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& connection : connections()) connection->finish_soon();
  if (!co_await emptied(grace)) {
    for (const auto& connection : connections()) connection->interrupt();
    if (!co_await emptied(kFlushTime)) {
      hub_.abandoned = true;
      for (const auto& connection : connections()) connection->close();
      while (!co_await emptied(std::chrono::seconds(1))) {
      }
    }
  }
}

void AsioListener::stop(std::chrono::milliseconds grace) {
  if (std::exchange(stopped_, true) || !thread_.joinable()) return;
  std::promise<void> gone;
  asio::co_spawn(io_, shut_down(grace), [&gone](std::exception_ptr) { gone.set_value(); });
  gone.get_future().wait();
  guard_.reset();
  io_.stop();
  thread_.join();
}

}  // namespace

engine::Result<std::unique_ptr<Listener>> Listener::open(const ListenerOptions& options, Handler& handler) {
  try {
    auto listener = std::make_unique<AsioListener>(options, handler);
    LATHE_TRY_VOID(listener->listen());
    listener->start();
    return listener;
  } catch (const std::system_error& error) {
    return engine::fail(ErrorCode::resource_exhausted,
                        "the server needs " + std::to_string(options.n_workers + 1) + " threads: " + error.code().message() +
                            "; close other programs, or raise the limits of this process",
                        "threads");
  }
}

}  // namespace lathe::app::http
