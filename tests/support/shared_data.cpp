// SPDX-License-Identifier: Apache-2.0
#include "tests/support/shared_data.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::tests {

std::string source_path(const std::string& relative) { return std::string(LATHE_SOURCE_DIR) + "/" + relative; }

std::string shared_path(const std::string& relative) {
  const char* root = std::getenv("LATHE_SHARED");
  const std::filesystem::path path =
      (root != nullptr ? std::filesystem::path(root) : std::filesystem::path(LATHE_SOURCE_DIR) / ".." / "shared") / relative;
  return std::filesystem::exists(path) ? path.lexically_normal().string() : std::string();
}

}  // namespace lathe::tests
