// SPDX-License-Identifier: Apache-2.0
// VectorSet: the engine requests for the vectors of one HTTP request, with one row in the table of requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/server/dialect.h"
#include "engine/api/engine.h"

namespace lathe::app {

/// A text, or a pair of texts, as tokens.
struct VectorText {
  std::vector<std::int32_t> ids;
  std::int32_t second_begin = 0;  ///< index of the first token of a pair's second text; 0: there is one text
};

/// The engine joins texts of all sets to batches. A set has a limited number of requests in the engine, so that a list of
/// thousands of texts neither fills the queue nor keeps the requests of others waiting for its end.
/// Thread: one at a time; after submit() that of http::Pending.
class VectorSet {
 public:
  /// Submits the first texts. Errors: those of Engine::submit.
  static engine::Result<std::unique_ptr<VectorSet>> submit(const ServerContext& context, const http::Request& request,
                                                           const EngineLease& lease, std::string model,
                                                           std::vector<VectorText> texts,
                                                           const engine::PoolingParams& pooling);
  ~VectorSet();  ///< cancels what is running
  VectorSet(const VectorSet&) = delete;
  VectorSet& operator=(const VectorSet&) = delete;

  void on_wake(std::function<void()> wake);
  void cancel();
  std::function<void(int http_status)> on_answered() const;
  /// Takes the news and submits further texts; true when all vectors are there, or one has failed.
  bool poll();

  /// Requires: poll() has returned true. Set if a text has no vector.
  const std::optional<engine::Error>& error() const { return error_; }
  const std::vector<std::vector<float>>& vectors() const { return vectors_; }
  std::int64_t n_tokens() const { return n_tokens_; }
  std::int64_t duration_ns() const;

 private:
  struct Running {
    std::size_t text = 0;
    engine::RequestHandlePtr handle;
  };
  VectorSet(const ServerContext& context, std::vector<VectorText> texts, const engine::PoolingParams& pooling);
  void submit_more(engine::Engine& engine);
  void submit_more();
  void fail(engine::Error error);
  void take(const Running& running, engine::TokenEvent&& event);
  void write_row();

  ModelSlot& models_;
  RequestLog& log_;
  const std::uint64_t generation_;  ///< of the loaded model: a later one has other vectors
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<VectorText> texts_;
  const engine::PoolingParams pooling_;
  std::int64_t n_tokens_ = 0;
  std::size_t n_submitted_ = 0;
  std::vector<Running> running_;
  std::vector<std::vector<float>> vectors_;
  std::optional<engine::Error> error_;
  bool cancelled_ = false;
  std::uint64_t row_ = 0;
  bool row_is_over_ = false;
  std::function<void()> wake_;
};

}  // namespace lathe::app
