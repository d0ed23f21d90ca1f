// SPDX-License-Identifier: Apache-2.0
// News: lets a connection wait until its pending work has something new; several wakes before a wait count as one.
#pragma once

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace lathe::app::http {

/// Thread: the I/O thread, except for the function that waker() returns.
class News {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit News(boost::asio::any_io_executor executor) : timer_(std::move(executor)) {}
  ~News() { detach(); }
  News(const News&) = delete;
  News& operator=(const News&) = delete;

  /// Forgets earlier wakes. Returns a function that wakes this object from any thread, until detach().
  std::function<void()> waker() {
    detach();
    has_news_ = false;
    signal_ = std::make_shared<Signal>();
    signal_->news = this;
    return [signal = signal_, executor = timer_.get_executor()] {
      if (signal->posted.exchange(true)) return;
      boost::asio::post(executor, [signal] {
        signal->posted = false;
        if (signal->news != nullptr) signal->news->wake();
      });
    };
  }
  void detach() {
    if (signal_ != nullptr) signal_->news = nullptr;
  }

  void wake() {
    has_news_ = true;
    timer_.cancel();
  }
  void forget() { has_news_ = false; }
  /// Returns at a wake or at `until`.
  boost::asio::awaitable<void> wait(Time until) {
    if (!has_news_) {
      timer_.expires_at(until);
      co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    has_news_ = false;
  }

 private:
  struct Signal {
    std::atomic<bool> posted{false};
    News* news = nullptr;  ///< Thread: the I/O thread
  };

  boost::asio::steady_timer timer_;
  bool has_news_ = false;
  std::shared_ptr<Signal> signal_;
};

}  // namespace lathe::app::http
