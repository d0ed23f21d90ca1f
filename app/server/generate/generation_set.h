// SPDX-License-Identifier: Apache-2.0
// GenerationSet: the engine requests of one HTTP request, each with its row in the table of requests.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/api/request_log.h"
#include "engine/api/engine.h"

namespace lathe::app {

/// Thread: one at a time; cancel() from any.
class GenerationSet {
 public:
  /// Submits all requests or none. Errors: those of Engine::submit.
  static engine::Result<std::unique_ptr<GenerationSet>> submit(engine::Engine& engine, RequestLog& log,
                                                               std::vector<engine::GenerateRequest> requests,
                                                               const RequestRecord& row);
  ~GenerationSet();  ///< cancels the running requests
  GenerationSet(const GenerationSet&) = delete;
  GenerationSet& operator=(const GenerationSet&) = delete;

  std::size_t size() const { return members_.size(); }
  void on_wake(const std::function<void()>& wake);
  void cancel();
  /// Returns a function that writes the HTTP status to the rows. It may outlive this set, but not the table.
  std::function<void(int http_status)> on_answered() const;
  /// Passes each member's new event to `take`; false when all have finished.
  bool poll(const std::function<void(std::size_t member, engine::TokenEvent&& event)>& take);

 private:
  struct Member {
    engine::RequestHandlePtr handle;
    std::uint64_t row = 0;
    engine::Usage usage;  ///< as of the last event
    engine::RequestTimings timings;
    bool finished = false;
  };
  explicit GenerationSet(RequestLog& log) : log_(log) {}
  void abandon(const engine::Error& error);

  RequestLog& log_;
  std::vector<Member> members_;
};

}  // namespace lathe::app
