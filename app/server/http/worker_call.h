// SPDX-License-Identifier: Apache-2.0
// Calls a function on a worker thread from a coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "app/server/http/worker_pool.h"

namespace lathe::app::http {

/// Resumes on the coroutine's executor. An exception of the work is rethrown there, where it ends the connection and not the
/// program.
template <class Job>
boost::asio::awaitable<void> call_on_worker(WorkerPool& workers, boost::asio::any_io_executor executor, Job work) {
  namespace asio = boost::asio;
  std::exception_ptr thrown;
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
      [&](auto handler) {
        auto done = std::make_shared<decltype(handler)>(std::move(handler));
        workers.post([done, &work, &thrown, executor]() mutable {
          try {
            work();
          } catch (...) {
            thrown = std::current_exception();
          }
          asio::post(executor, [done = std::move(done)] { std::move (*done)(); });
        });
      },
      asio::use_awaitable);
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace lathe::app::http
