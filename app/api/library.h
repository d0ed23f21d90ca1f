// SPDX-License-Identifier: Apache-2.0
// Library: models that the user can open: the bundled model, recent models, and models in watched folders.
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

/// Fingerprint of a model's files when they were scanned, which differs for another model at the same path.
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

/// A folder that is searched for models.
struct WatchedFolder {
  std::string path;
  std::string kind;  ///< "Hugging Face cache", "LM Studio", "ollama"; empty: added by the user
  bool is_there = false;
};

/// Description of a model from its headers, and whether it would fit into memory as stored.
struct ModelFacts {
  std::optional<engine::ModelInfo> info;
  std::optional<engine::Error> error;  ///< reason why the model cannot be opened
  engine::FitVerdict verdict = engine::FitVerdict::unknown;
};
/// Reads headers, no weights. `returned_bytes`: memory that unloading the current model will free. Thread: any.
ModelFacts look_at_model(const std::string& path, std::int64_t returned_bytes = 0);

struct ScanProgress {
  std::string folder;  ///< folder that is being read
  std::size_t n_folders = 0, n_models = 0;
};
/// Called before each folder is read; false ends the scan, which then returns the models found so far.
using ScanObserver = std::function<bool(const ScanProgress&)>;

/// Thread: any.
class Library {
 public:
  virtual ~Library() = default;
  /// Lists the demo model first, then recent models, then models in watched folders. Reads folders, not weights; invalid
  /// models are listed too.
  virtual std::vector<LibraryEntry> entries(const ScanObserver& observer = {}) const = 0;
  /// Watched folders: those of other programs first, then the user's own.
  virtual std::vector<WatchedFolder> folders() const = 0;
  /// Errors: not_found when the model was removed after the scan, conflict when its files changed: scan again.
  virtual engine::Result<void> check_unchanged(const LibraryEntry& entry) const = 0;
  virtual void opened(const std::string& path) = 0;  ///< moves the model to the front of the recent models (20 kept)
  virtual std::string demo_model() const = 0;        ///< path of the bundled model; empty: it is not installed
  /// Path of a model: `path_or_name` itself if it exists or names a shape (engine/api/model_shapes.h); else the entry with
  /// that name, ignoring case, or the only entry whose name ends with it ("Llama-3.2-1B" of "meta-llama/Llama-3.2-1B").
  /// Errors: not_found with the name and the folders searched; invalid_argument with the matching entries when several
  /// match.
  virtual engine::Result<std::string> resolve(const std::string& path_or_name) const = 0;
};
/// `standard`: folders of other programs, searched if the setting library/standard_folders is on.
std::unique_ptr<Library> make_library(Settings& settings, std::string resources, std::vector<WatchedFolder> standard = {});

}  // namespace lathe::app
