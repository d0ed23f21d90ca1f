// SPDX-License-Identifier: Apache-2.0
// Workbench: the composition root.
// Owns: settings, history, library, the model slot, the request log, the server and the sweeper.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/api/chat_session.h"
#include "app/api/history.h"
#include "app/api/library.h"
#include "app/api/log.h"
#include "app/api/model_slot.h"
#include "app/api/paths.h"
#include "app/api/request_log.h"
#include "app/api/server.h"
#include "app/api/settings.h"
#include "app/api/sweeper.h"
#include "engine/api/machine.h"

namespace lathe::app {

struct WorkbenchOptions {
  std::string profile_dir;  ///< empty: XDG folders
  EngineLoader loader;      ///< empty: engine::load_engine
  /// Checks loads before the running model is unloaded. Empty: engine::check_load, or nothing if `loader` is given.
  EngineChecker checker;
  /// Lists the devices of the machine.
  std::function<std::vector<engine::DeviceInfo>()> devices = engine::list_devices;
  LogOptions log;
  std::string log_name;      ///< "serve": writes paths().state/serve.log while the setting log/to_file is on; empty: never
  bool keep_history = true;  ///< false: history only in memory, for headless commands
};

class Workbench {
 public:
  static engine::Result<std::unique_ptr<Workbench>> create(WorkbenchOptions options);
  /// Stops the server, ends requests, saves settings. The grace period is below 3 s, but running computations are waited
  /// for: a step of the model, a template, a load from disk. A program that must exit in time uses an EndWatch.
  virtual ~Workbench() = default;

  virtual const Paths& paths() const = 0;
  virtual Log& log() = 0;
  virtual Settings& settings() = 0;
  virtual History& history() = 0;
  virtual Library& library() = 0;
  virtual ModelSlot& models() = 0;
  virtual RequestLog& requests() = 0;
  virtual Server& server() = 0;
  virtual Sweeper& sweeper() = 0;
  /// Devices that a model may be loaded on. May take a second. Thread: any.
  virtual std::vector<engine::DeviceInfo> devices() const = 0;
};

std::string version();  ///< "0.1.0"

}  // namespace lathe::app
