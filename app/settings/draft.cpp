// SPDX-License-Identifier: Apache-2.0
#include "app/api/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "app/settings/atomic_file.h"
#include "engine/api/utf8.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const Paths& paths) { return fs::path(paths.data) / "draft.txt"; }

}  // namespace

std::string load_draft(const Paths& paths) {
  std::error_code error;
  if (!fs::is_regular_file(file_of(paths), error)) return {};
  std::ifstream stream(file_of(paths), std::ios::binary);
  std::string text(kMaxDraftBytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return engine::repaired_utf8(text);
}

engine::Result<void> keep_draft(const Paths& paths, std::string_view text) {
  const fs::path file = file_of(paths);
  std::error_code error;
  if (text.empty()) {
    if (!fs::is_regular_file(file, error)) return {};
    if (!fs::remove(file, error) && error) return engine::fail(engine::ErrorCode::internal, error.message(), file.string());
    return {};
  }
  if (text.size() > kMaxDraftBytes)
    return engine::fail(engine::ErrorCode::too_large,
                        fmt::format("the draft has {} bytes; at most {} are kept", text.size(), kMaxDraftBytes),
                        file.string());
  fs::create_directories(file.parent_path(), error);
  return write_file_atomically(file.string(), text);
}

}  // namespace lathe::app
