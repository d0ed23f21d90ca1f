// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <string_view>

#include "app/server/http/async_result.h"

namespace lathe::app::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kBufferBytes = 64u << 10;  // limit of the bytes read ahead of the parser

std::string_view view(const beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

/// True if the bytes are malformed; false if the client has gone.
bool is_malformed(const error_code& code) {
  using beast::http::error;
  return code.category() == make_error_code(error::bad_chunk).category() && code != error::partial_message &&
         code != error::end_of_stream;
}

}  // namespace

RequestReader::RequestReader(tcp::socket& socket, Deadline& deadline, const Limits& limits, RequestHead& head)
    : socket_(socket), deadline_(deadline), limits_(limits), head_(head), buffer_(kBufferBytes) {}

asio::awaitable<std::size_t> RequestReader::read_some() {
  const auto space = buffer_.prepare(std::min<std::size_t>(16u << 10, kBufferBytes - buffer_.size()));
  const auto [error, n] = co_await socket_.async_read_some(space, kResult);
  if (error) co_return 0;
  buffer_.commit(n);
  co_return n;
}

asio::awaitable<std::size_t> RequestReader::discard_some() {
  buffer_.clear();
  co_return co_await read_some();
}

asio::awaitable<ReadEnd> RequestReader::read_head(bool is_first) {
  bool begun = buffer_.size() > 0;
  deadline_.arm(begun || is_first ? limits_.header_timeout : limits_.idle_timeout);
  HeadScan scan;
  for (;;) {
    while (view(buffer_).starts_with("\r\n")) buffer_.consume(2);  // RFC 9112, 2.2: empty lines before a request are skipped
    scan = view(buffer_) == "\r" ? HeadScan{} : scan_head(view(buffer_), limits_);
    if (scan.size > 0 || scan.refusal) break;
    if (co_await read_some() == 0) {
      const bool slow = deadline_.expired();
      deadline_.disarm();
      if (!slow || !begun) co_return ReadEnd::gone;
      refusal_ = {408, "the header did not arrive in time"};
      co_return ReadEnd::late;
    }
    if (!begun && !is_first) deadline_.arm(limits_.header_timeout);
    begun = true;
  }
  deadline_.disarm();
  if (!scan.refusal) scan.refusal = check_head(view(buffer_).substr(0, scan.size), limits_);
  if (!scan.refusal) scan.refusal = parse_head(scan.size);
  if (!scan.refusal) co_return ReadEnd::whole;
  refusal_ = std::move(*scan.refusal);
  co_return ReadEnd::refused;
}

/// Passes the checked head to the parser. A declared length above the limit is refused later, after the client is
/// authenticated.
std::optional<Refusal> RequestReader::parse_head(std::size_t size) {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes + 1024));
  parser_->body_limit(limits_.body_bytes);
  error_code error;
  buffer_.consume(parser_->put(asio::buffer(buffer_.data().data(), size), error));
  too_large_.reset();
  if (error == beast::http::error::body_limit) {
    too_large_ = body_too_large();
  } else if (error) {
    return Refusal{400, "the header is malformed: " + error.message()};
  }
  if (!split_target(std::string(parser_->get().target()), head_)) {
    return Refusal{400, "the request target is neither a path nor an http address"};
  }
  take_head();
  return std::nullopt;
}

Refusal RequestReader::body_too_large() const {
  return {413, "the body has more than " + std::to_string(limits_.body_bytes) + " bytes"};
}

void RequestReader::take_head() {
  const auto& message = parser_->get();
  head_.method = std::string(message.method_string());
  head_.minor_version = message.version() == 10 ? 0 : 1;
  head_.fields.clear();
  for (const auto& field : message) head_.fields.push_back({std::string(field.name_string()), std::string(field.value())});
}

bool RequestReader::awaits_continue() const {
  return equal_ignoring_case(head_.value("Expect"), "100-continue") && head_.minor_version == 1 && !parser_->is_done() &&
         buffer_.size() == 0;
}

asio::awaitable<ReadEnd> RequestReader::read_body() {
  parser_->eager(true);  // else each chunk, even of one byte, costs an iteration of this loop and a timer
  error_code error;
  while (!parser_->is_done() && !error) {
    deadline_.arm(limits_.body_idle_timeout);
    const auto [result, n] = co_await beast::http::async_read_some(socket_, buffer_, *parser_, kResult);
    error = result;
  }
  const bool slow = deadline_.expired();
  deadline_.disarm();
  if (!error) co_return ReadEnd::whole;
  if (error == beast::http::error::body_limit) {
    refusal_ = body_too_large();
  } else if (slow) {
    refusal_ = {408, "the body did not arrive in time"};
    co_return ReadEnd::late;
  } else if (error == beast::http::error::partial_message || error == beast::http::error::end_of_stream) {
    refusal_ = {400, "the body ends before the length that its header says; the sending side was closed"};
  } else if (is_malformed(error)) {
    refusal_ = {400, "the body is malformed: " + error.message()};
  } else {
    co_return ReadEnd::gone;
  }
  co_return ReadEnd::refused;
}

}  // namespace lathe::app::http
