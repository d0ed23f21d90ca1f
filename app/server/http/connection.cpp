// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <exception>
#include <optional>

#include "app/server/http/async_result.h"
#include "app/server/http/deadline.h"
#include "app/server/http/news.h"
#include "app/server/http/peer_state.h"
#include "app/server/http/request_reader.h"
#include "app/server/http/worker_call.h"

namespace lathe::app::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;

// Limit of the bytes discarded after a refusal, so that the client can read it.
constexpr std::size_t kLingerBytes = 64u << 20;
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr std::chrono::seconds kDrainTime{10};  // limit for cancelled work to end
constexpr std::chrono::milliseconds kPeekInterval{50};
constexpr std::chrono::milliseconds kProbeInterval{1'000};  // pause after the first probe; each later pause is twice as long

class ServedConnection final : public Connection {
 public:
  ServedConnection(tcp::socket socket, ConnectionHub& hub)
      : socket_(std::move(socket)),
        hub_(hub),
        deadline_(socket_),
        news_(socket_.get_executor()),
        reader_(socket_, deadline_, hub.limits, head_) {}

  asio::awaitable<void> run() override;
  void finish_soon() override;
  void interrupt() override;
  void close() override;

 private:
  enum class Step { next, last, linger };  ///< continuation after a request

  asio::awaitable<bool> read_head();
  asio::awaitable<bool> read_body();
  asio::awaitable<Step> serve();
  asio::awaitable<Step> send(Response response);
  /// gcc 12 destroys a temporary aggregate twice when it is an argument inside co_await, so `refusal` is a named object.
  asio::awaitable<void> refuse(const RequestHead* head, const Refusal& refusal);
  asio::awaitable<Step> answer(std::unique_ptr<PendingResponse> pending);
  asio::awaitable<Step> answer(std::unique_ptr<PieceStream> stream);
  asio::awaitable<void> await_ready(PendingResponse& pending, std::exception_ptr& thrown);
  asio::awaitable<void> pump(PieceStream& stream, bool& complete);
  bool pull(PieceStream& stream, std::string& piece);
  asio::awaitable<void> drain_cancelled(Pending& pending, std::function<bool()> over);
  asio::awaitable<void> client_gone(std::function<void()> probe);
  asio::awaitable<bool> write(std::string_view bytes);
  asio::awaitable<void> linger();
  template <class Job>
  asio::awaitable<void> on_worker(Job work) {
    return call_on_worker(hub_.workers, socket_.get_executor(), std::move(work));
  }

  void send_early_byte();
  News::Time silent_until() const;
  Response take(PendingResponse& pending) const;
  void begin(Pending& pending);
  void answered(int status);
  void end(Pending& pending);
  bool keep_alive() const { return reader_.keep_alive() && !hub_.stopping; }

  tcp::socket socket_;
  ConnectionHub& hub_;
  Deadline deadline_;
  News news_;
  RequestHead head_;
  RequestReader reader_;
  std::vector<Field> extra_fields_;
  Pending* pending_ = nullptr;
  std::function<void(int)> on_answered_;  // belongs to the pending work, which may be destroyed before the call
  bool first_request_ = true, receiving_ = false, interrupted_ = false;
  std::exception_ptr broken_;  // exception of the current stream, which then yields nothing more
  std::size_t n_early_ = 0;    // bytes of the current answer that were sent early
  News::Time spoke_at_{};      // time of the last write of the current stream
  bool probes_ = false;        // the current stream must send something, to detect a closed socket
};

// ---- lifetime

asio::awaitable<void> ServedConnection::run() {
  const auto self = shared_from_this();
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(tcp::socket::keep_alive(true), ignored);
  head_.peer_address = socket_.remote_endpoint(ignored).address().to_string();
  const tcp::endpoint local = socket_.local_endpoint(ignored);
  head_.local_port = local.port();
  head_.local_address = local.address().is_v6() ? "[" + local.address().to_string() + "]" : local.address().to_string();

  Step step = Step::next;
  while (step == Step::next && !hub_.stopping) {
    receiving_ = true;
    if (!co_await read_head()) co_return;
    step = co_await serve();
    first_request_ = false;
  }
  if (step == Step::linger) co_await linger();
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
}

void ServedConnection::finish_soon() {
  if (receiving_) close();
}

void ServedConnection::interrupt() {
  interrupted_ = true;
  if (pending_ != nullptr) pending_->interrupt();
}

void ServedConnection::close() {
  error_code ignored;
  socket_.close(ignored);
  deadline_.disarm();
  news_.wake();
}

// ---- bytes

asio::awaitable<bool> ServedConnection::write(std::string_view bytes) {
  bool whole = true;
  while (!bytes.empty() && whole) {
    deadline_.arm(hub_.limits.write_stall_timeout);
    const auto [error, n] = co_await socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kResult);
    whole = !error;
    bytes.remove_prefix(n);
  }
  deadline_.disarm();
  co_return whole;
}

/// Reads and discards bytes for a while: closing a connection with unread bytes would reset it, and the client would lose
/// the answer.
asio::awaitable<void> ServedConnection::linger() {
  receiving_ = true;
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  deadline_.arm(kLingerTime);
  for (std::size_t thrown = 0; thrown < kLingerBytes && !hub_.stopping;) {
    const std::size_t n = co_await reader_.discard_some();
    if (n == 0) break;
    thrown += n;
  }
  deadline_.disarm();
}

// ---- reading a request

asio::awaitable<bool> ServedConnection::read_head() {
  const ReadEnd result = co_await reader_.read_head(first_request_);
  if (result == ReadEnd::late || result == ReadEnd::refused) co_await refuse(nullptr, reader_.refusal());
  if (result == ReadEnd::refused) co_await linger();
  co_return result == ReadEnd::whole;
}

asio::awaitable<bool> ServedConnection::read_body() {
  if (reader_.awaits_continue() && !co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  const ReadEnd result = co_await reader_.read_body();
  if (result == ReadEnd::whole) co_return true;
  answered(result == ReadEnd::gone ? 499 : reader_.refusal().status);
  if (result == ReadEnd::gone) co_return false;
  co_await refuse(&head_, reader_.refusal());
  co_await linger();
  co_return false;
}

// ---- answering

asio::awaitable<void> ServedConnection::refuse(const RequestHead* head, const Refusal& refusal) {
  const Response response = hub_.handler.refuse(head, refusal);
  const std::string framing = "Content-Length: " + std::to_string(response.body.size());
  co_await write(response_head(response, framing, false, 1) + response.body);
}

asio::awaitable<ServedConnection::Step> ServedConnection::send(Response response) {
  response.fields.insert(response.fields.end(), extra_fields_.begin(), extra_fields_.end());
  const bool unread = reader_.is_unread();
  const bool keep = keep_alive() && !unread;
  const std::string length =
      response.status == 204 ? std::string() : "Content-Length: " + std::to_string(response.body.size());
  std::string bytes = response_head(response, length, keep, head_.minor_version);
  if (head_.method != "HEAD") bytes += response.body;
  bytes.erase(0, std::exchange(n_early_, 0));
  const bool sent = co_await write(bytes);
  answered(sent ? response.status : 499);
  if (!sent) co_return Step::last;
  if (unread) co_return Step::linger;
  co_return keep ? Step::next : Step::last;
}

asio::awaitable<ServedConnection::Step> ServedConnection::serve() {
  Screening screening = hub_.handler.screen(head_);
  extra_fields_ = std::move(screening.fields);
  if (!screening.refusal && reader_.too_large()) screening.refusal = hub_.handler.refuse(&head_, *reader_.too_large());
  if (screening.refusal) co_return co_await send(std::move(*screening.refusal));
  if (!co_await read_body()) co_return Step::last;
  receiving_ = false;

  Request request{head_, reader_.take_body()};
  Reply reply;
  if (screening.quick) {
    reply = hub_.handler.handle(std::move(request));
  } else {
    co_await on_worker([&] { reply = hub_.handler.handle(std::move(request)); });
  }
  if (auto* response = std::get_if<Response>(&reply)) co_return co_await send(std::move(*response));
  if (auto* later = std::get_if<std::unique_ptr<PendingResponse>>(&reply)) co_return co_await answer(std::move(*later));
  co_return co_await answer(std::move(std::get<std::unique_ptr<PieceStream>>(reply)));
}

asio::awaitable<ServedConnection::Step> ServedConnection::answer(std::unique_ptr<PendingResponse> pending) {
  begin(*pending);
  std::exception_ptr thrown;
  const std::function<void()> probe = [this] { send_early_byte(); };
  const auto first = co_await (await_ready(*pending, thrown) || client_gone(probe));
  if (first.index() == 1) {
    close();
    co_await drain_cancelled(*pending, [&] { return is_ready(*pending, thrown); });
    if (thrown) static_cast<void>(hub_.handler.failed(head_, thrown));  // for the log only: the client has gone
    end(*pending);
    answered(499);
    co_return Step::last;
  }
  end(*pending);
  Response response;
  co_await on_worker([&] {
    response = thrown ? hub_.handler.failed(head_, thrown) : take(*pending);
    pending.reset();
  });
  co_return co_await send(std::move(response));
}

/// Also ends if ready() throws: an exception leaving a branch of `||` would wait for the end of the other branch.
asio::awaitable<void> ServedConnection::await_ready(PendingResponse& pending, std::exception_ptr& thrown) {
  while (!is_ready(pending, thrown)) co_await news_.wait(News::Time::max());
}

/// Runs on a worker. Catches all exceptions (a large answer may not fit into memory): one that left the worker would end the
/// program.
Response ServedConnection::take(PendingResponse& pending) const {
  try {
    return pending.take();
  } catch (...) {
    return hub_.handler.failed(head_, std::current_exception());
  }
}

asio::awaitable<ServedConnection::Step> ServedConnection::answer(std::unique_ptr<PieceStream> stream) {
  begin(*stream);
  bool complete = false;
  const std::function<void()> probe = [this] {
    probes_ = true;
    news_.wake();
  };
  co_await (pump(*stream, complete) || client_gone(probe));
  if (!complete) {
    close();
    std::string thrown;
    co_await drain_cancelled(*stream, [&] {
      thrown.clear();
      return broken_ || !pull(*stream, thrown);
    });
  }
  end(*stream);
  if (broken_) static_cast<void>(hub_.handler.failed(head_, broken_));  // for the log only: the status has been sent
  answered(complete ? 200 : broken_ ? 500 : 499);
  const bool next = complete && !stream->failed() && keep_alive() && head_.minor_version == 1;
  co_return next ? Step::next : Step::last;
}

/// Sends in each iteration everything new: a slow reader gets fewer and larger pieces, and blocks nobody.
asio::awaitable<void> ServedConnection::pump(PieceStream& stream, bool& complete) {
  const bool chunked = head_.minor_version == 1;
  Response response{200, stream.content_type(), {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}, {}};
  for (Field& field : stream.fields()) response.fields.push_back(std::move(field));
  response.fields.insert(response.fields.end(), extra_fields_.begin(), extra_fields_.end());
  std::string bytes =
      response_head(response, chunked ? "Transfer-Encoding: chunked" : "", keep_alive() && chunked, head_.minor_version);
  for (bool more = true; more;) {
    std::string piece;
    more = pull(stream, piece);
    if (broken_) co_return;
    if (more && piece.empty() && (probes_ || News::Time::clock::now() >= silent_until())) {
      piece = stream.filler();
      spoke_at_ = News::Time::clock::now();  // also without a filler, or this loop would not pause
    }
    probes_ = false;
    if (!piece.empty()) bytes += chunked ? chunk_of(piece) : piece;
    if (!more && chunked) bytes += "0\r\n\r\n";
    if (!bytes.empty()) {
      if (!co_await write(bytes)) co_return;
      spoke_at_ = News::Time::clock::now();
      bytes.clear();
    }
    if (more) co_await news_.wait(silent_until());
  }
  complete = true;
}

/// Time at which a silent stream sends its filler.
News::Time ServedConnection::silent_until() const {
  const auto most = hub_.limits.stream_silence;
  return most.count() > 0 ? spoke_at_ + most : News::Time::max();
}

/// Calls the stream's pull(). An exception ends the stream without its last chunk, so that no client takes it for complete.
bool ServedConnection::pull(PieceStream& stream, std::string& piece) {
  try {
    return stream.pull(piece);
  } catch (...) {
    broken_ = std::current_exception();
    return false;
  }
}

/// Waits until cancelled work has ended, so that its final state is reported.
asio::awaitable<void> ServedConnection::drain_cancelled(Pending& pending, std::function<bool()> over) {
  pending.cancel();
  news_.forget();
  const auto until = News::Time::clock::now() + kDrainTime;
  while (!over() && !hub_.abandoned && News::Time::clock::now() < until) co_await news_.wait(until);
}

/// Returns when the client has gone. While the client's sending side is closed, `probe` sends it something at growing
/// intervals: only a reset in return distinguishes a closed socket from a client that still reads. Bytes of a next request
/// stay unread until this one is answered.
asio::awaitable<void> ServedConnection::client_gone(std::function<void()> probe) {
  asio::steady_timer pause(socket_.get_executor());
  News::Time probe_at{};
  std::chrono::milliseconds interval = kProbeInterval;
  for (;;) {
    const auto [error] = co_await socket_.async_wait(tcp::socket::wait_read, kResult);
    const PeerState state = error ? PeerState::gone : peer_state(socket_.native_handle());
    if (state == PeerState::gone) co_return;
    if (state == PeerState::half_closed && News::Time::clock::now() >= probe_at) {
      probe();
      probe_at = News::Time::clock::now() + interval;
      interval *= 2;
    }
    pause.expires_after(kPeekInterval);
    co_await pause.async_wait(kResult);
  }
}

/// Sends the next byte of the status line, whose begin does not depend on the status. Interim answers are no alternative:
/// HTTP/1.0 has none, and some clients of HTTP/1.1 do not read them.
void ServedConnection::send_early_byte() {
  const std::string begin = "HTTP/1." + std::to_string(head_.minor_version) + " ";
  if (n_early_ < begin.size()) n_early_ += send_now(socket_.native_handle(), std::string_view(begin).substr(n_early_, 1));
}

// ---- pending work

void ServedConnection::answered(int status) {
  hub_.handler.answered(head_, status);
  if (on_answered_) std::exchange(on_answered_, {})(status);
}

void ServedConnection::begin(Pending& pending) {
  pending_ = &pending;
  on_answered_ = pending.on_answered();
  probes_ = false;
  spoke_at_ = News::Time::clock::now();
  pending.on_wake(news_.waker());
  if (interrupted_) pending.interrupt();
}

void ServedConnection::end(Pending& pending) {
  pending.on_wake({});
  news_.detach();
  pending_ = nullptr;
}

}  // namespace

std::shared_ptr<Connection> Connection::make(tcp::socket socket, ConnectionHub& hub) {
  return std::make_shared<ServedConnection>(std::move(socket), hub);
}

}  // namespace lathe::app::http
