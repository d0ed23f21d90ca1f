// SPDX-License-Identifier: Apache-2.0
// Library: models that the user can open: the bundled one, recent ones, and those in watched folders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/api/settings.h"
#include "engine/api/checkpoint.h"

namespace lathe::app {

struct LibraryEntry {
  std::string path;
  std::string name;
  bool is_demo = false;
  bool recent = false;
};

/// Thread: any.
class Library {
 public:
  virtual ~Library() = default;
  /// The demo model first, then recent ones, then those found in watched folders. Reads folders, not weights.
  virtual std::vector<LibraryEntry> entries() const = 0;
  virtual void opened(const std::string& path) = 0;  ///< moves it to the front of the recent ones (20 kept)
  virtual std::string demo_model() const = 0;        ///< empty when it is not installed
  /// A folder as it is, or a name among the entries. Errors: not_found, naming what was looked for and where.
  virtual engine::Result<std::string> resolve(const std::string& path_or_name) const = 0;
};
std::unique_ptr<Library> make_library(Settings& settings, std::string resources);

}  // namespace lathe::app
