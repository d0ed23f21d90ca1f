// SPDX-License-Identifier: Apache-2.0
// Library: models that the user can open: the bundled one, recent ones, and those in watched folders.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/api/settings.h"
#include "engine/api/checkpoint.h"

namespace lathe::app {

/// What the files of a model were when they were seen: another model under the same path has another one.
struct FileStamp {
  std::int64_t n_files = 0, n_bytes = 0;
  std::int64_t newest = 0;  ///< time of the last change, in the file system's own units
  bool operator==(const FileStamp&) const = default;
};

struct LibraryEntry {
  std::string path;
  std::string name;  ///< "org/name" in the Hugging Face cache, "name:tag" in ollama's store
  bool is_demo = false;
  bool recent = false;
  FileStamp stamp = {};
};

/// Where models are looked for.
struct WatchedFolder {
  std::string path;
  std::string kind;  ///< "Hugging Face cache", "LM Studio", "ollama"; empty: added by the user
  bool is_there = false;
};

/// What a model's headers say and whether it would fit as it is stored.
struct ModelFacts {
  std::optional<engine::ModelInfo> info;
  std::optional<engine::Error> error;  ///< why it cannot be opened
  engine::FitVerdict verdict = engine::FitVerdict::unknown;
};
/// Reads headers, no weights. `returned_bytes`: what unloading the present model gives back. Thread: any.
ModelFacts look_at_model(const std::string& path, std::int64_t returned_bytes = 0);

struct ScanProgress {
  std::string folder;  ///< being read
  std::size_t n_folders = 0, n_models = 0;
};
/// Called before each folder is read; false ends the scan, which then returns what it has.
using ScanObserver = std::function<bool(const ScanProgress&)>;

/// Thread: any.
class Library {
 public:
  virtual ~Library() = default;
  /// The demo model first, then recent ones, then those found in watched folders. Reads folders, not weights; what turns out
  /// to be broken is listed too.
  virtual std::vector<LibraryEntry> entries(const ScanObserver& observer = {}) const = 0;
  /// Those of other programs first, then the user's own.
  virtual std::vector<WatchedFolder> folders() const = 0;
  /// Errors: not_found when the model is gone since it was listed, conflict when its files are others: scan again.
  virtual engine::Result<void> check_unchanged(const LibraryEntry& entry) const = 0;
  virtual void opened(const std::string& path) = 0;  ///< moves it to the front of the recent ones (20 kept)
  virtual std::string demo_model() const = 0;        ///< empty when it is not installed
  /// A path that is there; else a name among the entries, whatever its case, or the end of just one of them ("Llama-3.2-1B"
  /// of "meta-llama/Llama-3.2-1B"). Errors: not_found, naming what was looked for and where; invalid_argument when several
  /// fit, which are listed.
  virtual engine::Result<std::string> resolve(const std::string& path_or_name) const = 0;
};
/// `standard`: folders of other programs, searched while library/standard_folders is on.
std::unique_ptr<Library> make_library(Settings& settings, std::string resources, std::vector<WatchedFolder> standard = {});

}  // namespace lathe::app
