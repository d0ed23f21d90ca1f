// SPDX-License-Identifier: Apache-2.0
// ScratchFolder: a folder of this process, in memory where the system has such a place.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace lathe::fuzz {

class ScratchFolder {
 public:
  explicit ScratchFolder(std::string_view name) {
    const std::filesystem::path memory = "/dev/shm";
    const auto root = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = root / ("lathe-fuzz-" + std::string(name) + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }
  void write(const char* file, std::string_view bytes) const { std::ofstream(path_ / file, std::ios::binary) << bytes; }

 private:
  std::filesystem::path path_;
};

}  // namespace lathe::fuzz
