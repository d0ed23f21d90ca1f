// SPDX-License-Identifier: Apache-2.0
// ModelScan: finds the models below folders: checkpoints, GGUF files (a set of files is one model), and the stores of the
// Hugging Face hub and of ollama.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/api/library.h"

namespace lathe::app {

/// True if a folder is meant as a model: config.json with weights, readable or not; an adapter; or a snapshot in the Hugging
/// Face cache whose download is not complete. Opening such a folder reports what is missing.
bool is_checkpoint_folder(const std::filesystem::path& folder);
/// True for a path that can be opened: a checkpoint's folder, a GGUF file, a folder with exactly one of these, or a
/// repository's folder in the Hugging Face cache that has one of these.
bool is_model(const std::filesystem::path& path);
/// Returns the stamp of a model's files: those of its folder, or its GGUF file with the rest of the set. No file content is
/// read.
FileStamp stamp_of(const std::string& path);

/// Follows links, but reads each real folder only once, so that a cycle of links ends.
class ModelScan {
 public:
  ModelScan(std::vector<LibraryEntry>& found, const ScanObserver& observer) : found_(found), observer_(observer) {}
  void walk(const std::string& root);

 private:
  struct Place {
    std::filesystem::path folder;
    int depth = 0;
  };
  void read(const Place& place, std::vector<Place>& next);
  void add(const std::string& path, const std::string& name);
  bool may_go_on(const std::filesystem::path& folder);

  std::vector<LibraryEntry>& found_;
  const ScanObserver& observer_;
  std::set<std::string> seen_;
  bool ended_ = false;
};

}  // namespace lathe::app
