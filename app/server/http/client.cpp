// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <charconv>

#include "app/server/http/async_result.h"

namespace lathe::app::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using engine::ErrorCode;
using Parser = beast::http::response_parser<beast::http::buffer_body>;

constexpr std::size_t kPieceBytes = 16u << 10;

tl::unexpected<engine::Error> refuse(std::string_view url, const char* why) {
  return engine::fail(ErrorCode::invalid_argument, fmt::format("'{}' {}; a URL is http://HOST:PORT", url, why));
}

}  // namespace

std::string ServerUrl::authority() const {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

engine::Result<ServerUrl> parse_server_url(std::string_view url) {
  constexpr std::string_view kHttp = "http://";
  if (url.starts_with("https://")) return refuse(url, "is an https URL, which is not supported: use a tunnel or a proxy");
  if (!url.starts_with(kHttp)) return refuse(url, "does not begin with http://");
  const bool has_odd =
      std::any_of(url.begin(), url.end(), [](char c) { return c <= ' ' || c > '~' || c == '@' || c == '?' || c == '#'; });
  if (has_odd) return refuse(url, "has characters that are not allowed in an address");
  std::string_view rest = url.substr(kHttp.size());
  ServerUrl parsed{.host = {}, .port = "80", .path = std::string(rest.substr(std::min(rest.find('/'), rest.size())))};
  rest = rest.substr(0, rest.find('/'));
  while (parsed.path.ends_with('/')) parsed.path.pop_back();
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  if (bracket == rest.npos) return refuse(url, "has an open bracket");
  const std::size_t colon = rest.find(':', bracket);
  parsed.host = bracket > 0 ? rest.substr(1, bracket - 1) : rest.substr(0, colon);
  if (parsed.host.empty()) return refuse(url, "has no host");
  if (colon == rest.npos) return parsed;
  unsigned port = 0;
  const std::string_view digits = rest.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65'535)
    return refuse(url, "has no port from 1 to 65535");
  parsed.port = std::to_string(port);
  return parsed;
}

std::string_view AnswerHead::value(std::string_view name) const {
  for (const Field& field : fields) {
    if (equal_ignoring_case(field.name, name)) return field.value;
  }
  return {};
}

struct Client::State {
  ServerUrl url;
  ClientLimits limits;
  asio::io_context context{1};
  std::vector<std::unique_ptr<beast::tcp_stream>> idle{};  ///< open connections for later calls
};

namespace {

/// One call, from its connection to the last byte of its answer.
template <class State>
class Exchange {
 public:
  Exchange(State& state, Call call, CallEvents events) : state_(state), call_(std::move(call)), events_(std::move(events)) {}

  asio::awaitable<void> run() {
    bool has_head = false;
    const bool reuses = take_idle();
    if (reuses || co_await connect()) has_head = co_await ask();
    // The server may have closed the kept connection just before its reuse.
    if (!has_head && reuses && !parser_->got_some() && problem_->code != ErrorCode::deadline_exceeded) {
      problem_.reset();
      if (co_await connect()) has_head = co_await ask();
    }
    if (has_head) {
      events_.on_head(head());
      while (co_await read_piece()) {
      }
      if (!problem_ && parser_->get().keep_alive()) state_.idle.push_back(std::move(stream_));
    }
    events_.on_end(problem_);
  }

 private:
  bool take_idle() {
    if (state_.idle.empty()) return false;
    stream_ = std::move(state_.idle.back());
    state_.idle.pop_back();
    return true;
  }

  asio::awaitable<bool> connect() {
    tcp::resolver resolver(state_.context);
    const auto [no_name, places] = co_await resolver.async_resolve(state_.url.host, state_.url.port, kResult);
    if (no_name) co_return fail("cannot be found", no_name);
    stream_ = std::make_unique<beast::tcp_stream>(state_.context);
    stream_->expires_after(state_.limits.connect);
    const auto [refused, place] = co_await stream_->async_connect(places, kResult);
    if (refused) co_return fail("does not accept a connection", refused);
    error_code ignored;
    stream_->socket().set_option(tcp::no_delay(true), ignored);
    co_return true;
  }

  /// Sends the call and reads the head of its answer, after any interim answers (RFC 9110, 15.2).
  asio::awaitable<bool> ask() {
    buffer_.clear();
    const std::string message = text();
    stream_->expires_after(state_.limits.silence);
    const auto [broken, n_written] = co_await asio::async_write(*stream_, asio::buffer(message), kResult);
    if (broken) co_return fail("closed the connection before it received the request", broken);
    do {
      parser_.emplace();
      parser_->body_limit(boost::none);
      parser_->header_limit(static_cast<std::uint32_t>(state_.limits.header_bytes));
      const auto [unread, n_read] = co_await beast::http::async_read_header(*stream_, buffer_, *parser_, kResult);
      if (unread) co_return fail("sent no answer", unread);
    } while (parser_->get().result_int() < 200);
    co_return true;
  }

  AnswerHead head() const {
    AnswerHead head{static_cast<int>(parser_->get().result_int())};
    for (const auto& field : parser_->get()) {
      head.fields.push_back({std::string(field.name_string()), std::string(field.value())});
    }
    return head;
  }

  /// Reads one piece of the answer; false at its end.
  asio::awaitable<bool> read_piece() {
    if (parser_->is_done()) co_return false;
    parser_->eager(true);  // all chunks of one read form one piece: they arrived at the same time
    parser_->get().body().data = piece_.data();
    parser_->get().body().size = piece_.size();
    stream_->expires_after(state_.limits.silence);
    auto [broken, n_read] = co_await beast::http::async_read_some(*stream_, buffer_, *parser_, kResult);
    if (broken == beast::http::error::need_buffer) broken = {};
    const std::size_t n = piece_.size() - parser_->get().body().size;
    if (n > 0) events_.on_piece(std::string_view(piece_.data(), n));
    if (broken) co_return fail("cut off its answer", broken);
    co_return true;
  }

  std::string text() const {
    std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: lathe\r\n", call_.method, state_.url.path,
                                   call_.path, state_.url.authority());
    for (const Field& field : call_.fields) head += fmt::format("{}: {}\r\n", field.name, field.value);
    if (!call_.body.empty())
      head += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", call_.body.size());
    return head + "\r\n" + call_.body;
  }

  bool fail(const char* what, const error_code& error) {
    const bool is_late = error == beast::error::timeout;
    problem_ =
        engine::Error{is_late ? ErrorCode::deadline_exceeded : ErrorCode::unavailable,
                      fmt::format("{} {}: {}", state_.url.authority(), what, is_late ? "it took too long" : error.message()),
                      {}};
    return false;
  }

  State& state_;
  const Call call_;
  const CallEvents events_;
  std::unique_ptr<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::array<char, kPieceBytes> piece_{};
  std::optional<engine::Error> problem_;
};

template <class State>
asio::awaitable<void> perform(State& state, Call call, CallEvents events) {
  const auto exchange = std::make_unique<Exchange<State>>(state, std::move(call), std::move(events));
  co_await exchange->run();
}

}  // namespace

Client::Client(ServerUrl url, ClientLimits limits) : state_(new State{.url = std::move(url), .limits = limits}) {}

Client::~Client() = default;

void Client::start(Call call, CallEvents events) {
  asio::co_spawn(state_->context, perform(*state_, std::move(call), std::move(events)), asio::detached);
}

void Client::run_for(std::chrono::nanoseconds at_most) {
  const auto work = asio::make_work_guard(state_->context);  // makes the context wait although nothing is pending yet
  state_->context.restart();
  if (state_->context.run_one_for(at_most) > 0) state_->context.poll();
}

void Client::abandon() { state_.reset(new State{.url = state_->url, .limits = state_->limits}); }

}  // namespace lathe::app::http
