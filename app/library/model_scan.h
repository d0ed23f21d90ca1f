// SPDX-License-Identifier: Apache-2.0
// ModelScan: finds the models below folders: checkpoints, GGUF files (a set is one), the stores of the Hugging Face hub and
// of ollama.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/api/library.h"

namespace lathe::app {

/// Whether a folder was meant as a model: config.json with weights, readable or not; an adapter; a snapshot in the Hugging
/// Face cache whose weights are still to come. Opening it says what it lacks.
bool is_checkpoint_folder(const std::filesystem::path& folder);
/// A path that can be opened: a checkpoint's folder, a GGUF file, a folder with just one of them, or the folder of a
/// repository in the Hugging Face cache that has one of these.
bool is_model(const std::filesystem::path& path);
/// Of the files that make up a model: those of its folder, or its GGUF file with the others of the set. Nothing is read.
FileStamp stamp_of(const std::string& path);

/// Links are followed; each real folder is read once, so that a circle of links ends.
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
