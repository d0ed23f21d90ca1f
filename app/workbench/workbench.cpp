// SPDX-License-Identifier: Apache-2.0
#include "app/api/workbench.h"

#include <filesystem>

#include "app/api/returned_memory.h"
#include "app/library/standard_folders.h"
#include "app/server/server.h"
#include "app/workbench/cached_loader.h"
#include "app/workbench/home_folder.h"
#include "app/workbench/request_log.h"
#include "engine/api/check_load.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::Result;

/// Time for streams to end by themselves. Then the listener waits 1 s for the last errors to reach their clients, and the
/// model slot's grace is 0.5 s: less than 3 s in total, unless a worker or the engine is inside a computation that cannot be
/// interrupted.
constexpr int kServerGraceMs = 1200;

/// Also logs how a device was divided, and the warnings of a load; commands print these themselves.
EngineLoader with_log(EngineLoader loader, Log& log) {
  return [loader = std::move(loader), &log](const engine::EngineOptions& options, const engine::LoadObserver& observer) {
    auto loaded = loader(options, observer);
    if (!loaded) return loaded;
    if (const auto& division = (*loaded)->model().division) log.info("engine", "Memory: " + text_of(*division));
    engine::Engine& embedder = (*loaded)->embedder();
    if (&embedder != loaded->get()) {
      const engine::LoadedModel& model = embedder.model();
      log.info("engine",
               model.name + " is loaded for embeddings, with " + std::to_string(model.memory.total() >> 20) + " MiB");
      for (const std::string& warning : model.info.warnings) log.info("engine", model.name + ": " + warning);
    }
    for (const std::string& warning : (*loaded)->model().info.warnings) log.info("engine", warning);
    return loaded;
  };
}

Result<void> check_load(const engine::EngineOptions& options, const engine::LoadedModel& running) {
  return engine::check_load(options, returned_bytes(running, options.device));
}

/// Tokens that the engine has computed since its model was loaded.
std::uint64_t tokens_of(const ModelSlot& models) {
  const EngineLease lease = models.lease();
  if (!lease) return 0;
  const engine::EngineCounters counters = lease->snapshot()->counters;
  return counters.n_prefill_tokens + counters.n_generation_tokens;
}

class OwningWorkbench final : public Workbench {
 public:
  using ListDevices = std::function<std::vector<engine::DeviceInfo>()>;

  OwningWorkbench(Paths paths, EngineLoader loader, EngineChecker checker, ListDevices list_devices,
                  std::unique_ptr<Log> log, std::unique_ptr<Settings> settings, std::unique_ptr<History> history)
      : paths_(std::move(paths)),
        list_devices_(std::move(list_devices)),
        log_(std::move(log)),
        settings_(std::move(settings)),
        history_(std::move(history)),
        library_(make_library(*settings_, paths_.resources, standard_model_folders(environment, environment("HOME")))),
        models_(make_model_slot(loader, std::move(checker))),
        requests_(make_request_log(*models_)),
        server_(make_server(*models_, *requests_, *log_)),
        sweeper_(make_sweeper(std::move(loader), (fs::path(paths_.data) / "sweeps").string(),
                              {.packed = packed_folder(paths_), .own_tokens = [this] { return tokens_of(*models_); }})) {
    for (const std::string& problem : {paths_.problem, settings_->problem(), history_->problem()}) {
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
  Sweeper& sweeper() override { return *sweeper_; }
  std::vector<engine::DeviceInfo> devices() const override { return list_devices_(); }

 private:
  // Declared in the order of their dependencies: the last one is destroyed first.
  const Paths paths_;
  const ListDevices list_devices_;
  const std::unique_ptr<Log> log_;
  const std::unique_ptr<Settings> settings_;
  const std::unique_ptr<History> history_;
  const std::unique_ptr<Library> library_;
  const std::unique_ptr<ModelSlot> models_;
  const std::unique_ptr<RequestLog> requests_;
  const std::unique_ptr<Server> server_;
  const std::unique_ptr<Sweeper> sweeper_;
};

}  // namespace

Result<std::unique_ptr<Workbench>> Workbench::create(WorkbenchOptions options) {
  Paths paths = make_paths(options.profile_dir);
  if (options.loader == nullptr) {
    options.loader = cached_loader(paths);
    if (options.checker == nullptr) options.checker = check_load;
  }
  std::unique_ptr<Log> log = make_log(options.log);
  // The log must outlive the settings, whose destructor writes a last time.
  auto settings =
      open_settings(paths.config, [log = log.get()](const std::string& problem) { log->warning("workbench", problem); });
  if (!options.log_name.empty() && settings->get("log/to_file") == engine::Json(true)) {
    log->keep_file((fs::path(paths.state) / (options.log_name + ".log")).string());
  }
  LATHE_TRY(auto history, open_history(options.keep_history ? (fs::path(paths.data) / "history.db").string() : ":memory:"));
  EngineLoader loader = with_log(std::move(options.loader), *log);
  return std::make_unique<OwningWorkbench>(std::move(paths), std::move(loader), std::move(options.checker),
                                           std::move(options.devices), std::move(log), std::move(settings),
                                           std::move(history));
}

std::string version() { return LATHE_VERSION; }

}  // namespace lathe::app
