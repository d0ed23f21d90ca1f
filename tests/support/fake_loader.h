// SPDX-License-Identifier: Apache-2.0
// A loader of engines that a test scripts: the real engine loop over a FakeRunner, or an error, after as many progress
// reports as wanted.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "app/api/model_slot.h"
#include "tests/support/engine_harness.h"

namespace lathe::tests {

/// Shared by the test and the loading thread. Set the plain fields before a load starts.
struct LoaderScript {
  HarnessOptions engine;
  std::shared_ptr<FakeScript> runner = std::make_shared<FakeScript>();
  bool with_chat_template = true;
  std::optional<engine::Error> error;             ///< the load ends with it
  std::function<void(int report)> before_report;  ///< on the loading thread; may block or throw
  int n_reports = 3;
  std::atomic<int> n_loads{0};
  std::atomic<int> n_alive{0};  ///< engines that exist now
};

app::EngineLoader fake_loader(std::shared_ptr<LoaderScript> script);
/// Options under which the fake is loaded as `path`.
engine::EngineOptions fake_options(const std::string& path = "/fake/model");

}  // namespace lathe::tests
