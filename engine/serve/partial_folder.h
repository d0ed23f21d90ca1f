// SPDX-License-Identifier: Apache-2.0
// PartialFolder: where a checkpoint is written until all of it is there.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "engine/api/result.h"

namespace lathe::engine {

/// On the output's disk, so that files take their places at once. Removed unless that fails half way.
class PartialFolder {
 public:
  /// Inside the output if that is a folder, else beside it. Errors: resource_exhausted.
  static Result<PartialFolder> make(const std::filesystem::path& output);
  PartialFolder(PartialFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PartialFolder& operator=(PartialFolder&&) = delete;
  ~PartialFolder();

  const std::filesystem::path& path() const { return path_; }

  /// Its files go into the output's folder. Those of `old_files`, and all files of weights, that lay there and are not among
  /// the new ones go once all that is new is in its place; others stay.
  void take_place_of(const std::filesystem::path& output, const std::set<std::string, std::less<>>& old_files);
  /// Its only file becomes the output.
  void become_file(const std::filesystem::path& output);

 private:
  explicit PartialFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace lathe::engine
