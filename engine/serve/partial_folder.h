// SPDX-License-Identifier: Apache-2.0
// PartialFolder: a temporary folder in which a checkpoint is written before it replaces the output.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "engine/api/result.h"

namespace lathe::engine {

/// It is on the output's disk, so that renames move its files. The destructor removes it, unless moving its files has begun.
class PartialFolder {
 public:
  /// Creates the folder inside the output if that is a folder, else next to it. Errors: resource_exhausted.
  static Result<PartialFolder> make(const std::filesystem::path& output);
  PartialFolder(PartialFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PartialFolder& operator=(PartialFolder&&) = delete;
  ~PartialFolder();

  const std::filesystem::path& path() const { return path_; }

  /// Moves all files into the output's folder. Afterwards, older .safetensors files and `old_files` that have no new version
  /// are removed; other files remain.
  void take_place_of(const std::filesystem::path& output, const std::set<std::string, std::less<>>& old_files);
  /// Renames the only file to the output.
  void become_file(const std::filesystem::path& output);

 private:
  explicit PartialFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace lathe::engine
