// SPDX-License-Identifier: Apache-2.0
#include "tests/support/server_fixture.h"

#include <filesystem>
#include <thread>

#include "kernels/api/check.h"
#include "tests/support/patience.h"

namespace lathe::tests {

ServerFixture::ServerFixture(Options options) : model_(options.model) {
  app::LogOptions quiet;
  quiet.to_stderr = false;
  quiet.level = app::LogLevel::debug;
  log_ = app::make_log(quiet);
  models_ = app::make_model_slot([this](const engine::EngineOptions& engine_options, const engine::LoadObserver& observer) {
    FakeLoad load;
    load.model = model_;
    load.loaded = [this](FakeEngine& engine) { engine_ = &engine; };
    return fake_loader(load)(engine_options, observer);
  });
  requests_ = app::make_request_log(*models_);
  server_ = app::make_server(*models_, *requests_, *log_);
  if (options.load) load(options.model);
  options.server.port = 0;
  const auto started = server_->start(options.server);
  LATHE_CHECK(started.has_value());
}

ServerFixture::~ServerFixture() {
  server_.reset();
  models_->unload();
  static_cast<void>(models_->wait());
}

void ServerFixture::load(const FakeModel& model) {
  model_ = model;
  LATHE_CHECK(models_->load({}).has_value());
  LATHE_CHECK(models_->wait().has_value());
}

bool ServerFixture::wait_for_row(app::RequestStatus status) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
  while (std::chrono::steady_clock::now() < until) {
    const auto rows = requests_->records();
    if (!rows.empty() && rows.front().status == status) return true;
    std::this_thread::yield();
  }
  return false;
}

std::string ServerFixture::leftovers(const std::string& key_fields) const {
  const auto n_open = [this] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
    while (server_->status().n_connections > 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return server_->status().n_connections;
  };
  if (const int n = n_open(); n > 0) return std::to_string(n) + " connections are open";
  if (!engine_->wait_for_active(0)) return std::to_string(engine_->n_active()) + " requests are active";
  if (const int n = engine_->snapshot()->n_blocks_used; n > 0) return std::to_string(n) + " blocks are in use";
  const int status = HttpClient(port()).post("/v1/completions", R"({"prompt":"ab"})", key_fields).status;
  if (status != 200) return "a good request gets " + std::to_string(status);
  return n_open() > 0 ? "the connection of a good request stays open" : "";
}

int n_open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

engine::Json chat_body(const std::string& text, const engine::Json& more) {
  engine::Json body = {{"model", "fake"}, {"messages", {{{"role", "user"}, {"content", text}}}}};
  body.update(more);
  return body;
}

engine::Json completion_body(const engine::Json& prompt, const engine::Json& more) {
  engine::Json body = {{"model", "fake"}, {"prompt", prompt}};
  body.update(more);
  return body;
}

}  // namespace lathe::tests
