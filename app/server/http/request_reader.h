// SPDX-License-Identifier: Apache-2.0
// RequestReader: reads the requests of one connection from its socket, head and body, within the limits.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "app/server/http/deadline.h"
#include "app/server/http/limits.h"
#include "app/server/http/message.h"
#include "app/server/http/raw_head.h"

namespace lathe::app::http {

/// Result of reading a head or a body.
enum class ReadEnd {
  whole,
  gone,     ///< the client has gone, or was idle for too long between two requests
  late,     ///< the rest did not arrive in time; refusal() says so
  refused,  ///< refusal() says why
};

/// Requires: the arguments outlive the reader. Thread: the socket's. Invariant: no more than a buffer is read ahead of the
/// parser.
class RequestReader {
 public:
  /// `head`: filled by read_head().
  RequestReader(boost::asio::ip::tcp::socket& socket, Deadline& deadline, const Limits& limits, RequestHead& head);

  /// `is_first`: the first request of a connection has as long to begin as it has for its header.
  boost::asio::awaitable<ReadEnd> read_head(bool is_first);
  /// Requires: read_head() was whole.
  boost::asio::awaitable<ReadEnd> read_body();
  /// Discards what was read ahead, and some of what follows. Gives the number of bytes; 0: the client has gone, or the
  /// deadline is over.
  boost::asio::awaitable<std::size_t> discard_some();

  /// Reason of the last end that was `late` or `refused`.
  const Refusal& refusal() const { return refusal_; }
  /// Refusal of a body whose declared length is above the limit. The body is not read; the head is given, so that the client
  /// is authenticated first.
  const std::optional<Refusal>& too_large() const { return too_large_; }
  /// True if the client waits for "100 Continue" before it sends the body.
  bool awaits_continue() const;
  /// True if the body, or a part of it, was not read.
  bool is_unread() const { return too_large_ || !parser_->is_done(); }
  /// True if another request may follow, as far as this one says.
  bool keep_alive() const { return !too_large_ && parser_->keep_alive(); }
  /// Requires: read_body() was whole.
  std::string take_body() { return std::move(parser_->get().body()); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  boost::asio::awaitable<std::size_t> read_some();
  std::optional<Refusal> parse_head(std::size_t size);
  void take_head();
  Refusal body_too_large() const;

  boost::asio::ip::tcp::socket& socket_;
  Deadline& deadline_;
  const Limits& limits_;
  RequestHead& head_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;  // parser of the current request
  std::optional<Refusal> too_large_;
  Refusal refusal_;
};

}  // namespace lathe::app::http
