// SPDX-License-Identifier: Apache-2.0
// Deadline: cancels a socket's pending operation when its time is over.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

namespace lathe::app::http {

/// Requires: the socket outlives the deadline. Thread: the socket's.
class Deadline {
 public:
  explicit Deadline(boost::asio::ip::tcp::socket& socket)
      : timer_(socket.get_executor()), state_(std::make_shared<State>(State{&socket})) {}
  ~Deadline() { state_->socket = nullptr; }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void arm(std::chrono::milliseconds duration) {
    state_->expired = false;
    timer_.expires_after(duration);
    // A timer that has fired cannot be recalled, so its callback checks the round in which it was armed.
    timer_.async_wait([state = state_, round = ++state_->round](const boost::system::error_code& error) {
      if (error || round != state->round || state->socket == nullptr) return;
      state->expired = true;
      boost::system::error_code ignored;
      state->socket->cancel(ignored);
    });
  }
  void disarm() {
    ++state_->round;
    timer_.cancel();
  }
  bool expired() const { return state_->expired; }

 private:
  struct State {
    boost::asio::ip::tcp::socket* socket;
    std::uint64_t round = 0;
    bool expired = false;
  };
  boost::asio::steady_timer timer_;
  std::shared_ptr<State> state_;
};

}  // namespace lathe::app::http
