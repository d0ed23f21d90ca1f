// SPDX-License-Identifier: Apache-2.0
#include "app/api/workbench.h"

#include <filesystem>
#include <system_error>

#include "app/server/server.h"
#include "app/workbench/request_log.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::Result;

/// With the model slot's own grace the end of the workbench takes less than 5 s.
constexpr int kServerGraceMs = 2500;

class OwningWorkbench final : public Workbench {
 public:
  OwningWorkbench(Paths paths, EngineLoader loader, LogOptions log, std::unique_ptr<Settings> settings,
                  std::unique_ptr<History> history)
      : paths_(std::move(paths)),
        log_(make_log(log)),
        settings_(std::move(settings)),
        history_(std::move(history)),
        library_(make_library(*settings_, paths_.resources)),
        models_(make_model_slot(std::move(loader))),
        requests_(make_request_log(*models_)),
        server_(make_server(*models_, *requests_, *log_)) {
    for (const std::string& problem : {settings_->problem(), history_->problem()}) {
      if (!problem.empty()) log_->warning("workbench", problem);
    }
  }

  ~OwningWorkbench() override { server_->stop(kServerGraceMs); }

  const Paths& paths() const override { return paths_; }
  Log& log() override { return *log_; }
  Settings& settings() override { return *settings_; }
  History& history() override { return *history_; }
  Library& library() override { return *library_; }
  ModelSlot& models() override { return *models_; }
  RequestLog& requests() override { return *requests_; }
  Server& server() override { return *server_; }

 private:
  // In the order in which they need each other: the last one goes first.
  const Paths paths_;
  const std::unique_ptr<Log> log_;
  const std::unique_ptr<Settings> settings_;
  const std::unique_ptr<History> history_;
  const std::unique_ptr<Library> library_;
  const std::unique_ptr<ModelSlot> models_;
  const std::unique_ptr<RequestLog> requests_;
  const std::unique_ptr<Server> server_;
};

}  // namespace

Result<std::unique_ptr<Workbench>> Workbench::create(WorkbenchOptions options) {
  Paths paths = make_paths(options.profile_dir);
  if (options.loader == nullptr) {
    options.loader = [](const engine::EngineOptions& model, const engine::LoadObserver& observer) {
      return engine::load_engine(model, observer);
    };
  }
  if (!options.log.file.empty()) {
    std::error_code error;
    fs::create_directories(fs::path(options.log.file).parent_path(), error);
  }
  auto settings = open_settings(paths.config);
  LATHE_TRY(auto history, open_history(options.keep_history ? (fs::path(paths.data) / "history.db").string() : ":memory:"));
  return std::make_unique<OwningWorkbench>(std::move(paths), std::move(options.loader), std::move(options.log),
                                           std::move(settings), std::move(history));
}

std::string version() { return LATHE_VERSION; }

}  // namespace lathe::app
