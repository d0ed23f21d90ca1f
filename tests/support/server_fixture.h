// SPDX-License-Identifier: Apache-2.0
// ServerFixture: a running server over a FakeEngine, with everything around it real.
#pragma once

#include <memory>

#include "app/api/log.h"
#include "app/server/server.h"
#include "app/workbench/request_log.h"
#include "tests/support/fake_engine.h"
#include "tests/support/http_client.h"

namespace lathe::tests {

class ServerFixture {
 public:
  struct Options {
    app::ServerOptions server;
    FakeModel model;
    bool load = true;
  };
  ServerFixture() : ServerFixture(Options()) {}
  explicit ServerFixture(Options options);
  ~ServerFixture();

  std::uint16_t port() const { return server().status().port; }
  app::Server& server() const { return *server_; }
  FakeEngine& engine() const { return *engine_; }
  app::ModelSlot& models() const { return *models_; }
  app::RequestLog& requests() const { return *requests_; }
  app::Log& log() const { return *log_; }
  /// Loads a (further) model and waits for it.
  void load(const FakeModel& model);
  /// Waits until the newest row of the table of requests has this status, at most 20 s.
  bool wait_for_row(app::RequestStatus status) const;
  /// Describes open connections, active requests, used blocks, or a good request on a new connection that is not served;
  /// empty when all is as it was. `key_fields`: header lines that the good request needs. Waits for requests on their way.
  /// Requires: a model, not paused; every client of the test is closed.
  std::string leftovers(const std::string& key_fields = {}) const;

 private:
  FakeModel model_;
  FakeEngine* engine_ = nullptr;
  std::unique_ptr<app::Log> log_;
  std::unique_ptr<app::ModelSlot> models_;
  std::unique_ptr<app::RequestLog> requests_;
  std::unique_ptr<app::Server> server_;
};

/// The number of open file descriptors of this process.
int n_open_descriptors();

/// A chat request of one user message; `more` fields are added.
engine::Json chat_body(const std::string& text, const engine::Json& more = engine::Json::object());
engine::Json completion_body(const engine::Json& prompt, const engine::Json& more = engine::Json::object());

}  // namespace lathe::tests
