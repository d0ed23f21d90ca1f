// SPDX-License-Identifier: Apache-2.0
// Derives model names from paths, and recognises GGUF models by their paths.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/api/checkpoint.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGgufEnding = ".gguf";
/// Prefixes of files next to a model: its vision part, and the importance matrix by which it was quantized.
constexpr std::string_view kCompanions[] = {"mmproj", "imatrix"};

/// Ignores case: some file systems and converters write capitals.
bool has_gguf_ending(std::string_view name) {
  if (name.size() < kGgufEnding.size()) return false;
  const std::string_view ending = name.substr(name.size() - kGgufEnding.size());
  return std::equal(ending.begin(), ending.end(), kGgufEnding.begin(),
                    [](char there, char wanted) { return std::tolower(static_cast<unsigned char>(there)) == wanted; });
}

/// The part "-00002-of-00003" of a name that ends in "-00002-of-00003.gguf"; empty for any other name.
std::string_view number_in_set(std::string_view name) {
  constexpr std::size_t kSize = std::string_view("-00001-of-00001").size();
  const std::size_t ending = kSize + kGgufEnding.size();
  if (name.size() < ending || !has_gguf_ending(name)) return {};
  const std::string_view number = name.substr(name.size() - ending, kSize);
  return number[0] == '-' && number.substr(6, 4) == "-of-" ? number : std::string_view();
}

/// "org/name" of the folder of a repository in the Hugging Face cache, "models--org--name"; empty for any other name.
std::string repository_name(std::string name) {
  constexpr std::string_view kPrefix = "models--";
  if (!name.starts_with(kPrefix)) return {};
  name.erase(0, kPrefix.size());
  if (const auto dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
  return name;
}

}  // namespace

std::vector<std::string> gguf_models_in(const std::string& folder) {
  std::error_code problem;
  std::set<std::string> names;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    const bool is_companion = std::any_of(std::begin(kCompanions), std::end(kCompanions),
                                          [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (!has_gguf_ending(name) || is_companion) continue;
    const std::string_view number = number_in_set(name);
    std::error_code unreadable;
    const bool is_later = !number.empty() && !number.starts_with("-00001-");
    if (!is_later && !entry->is_directory(unreadable)) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::string checkpoint_name(const std::string& path) {
  if (has_gguf_ending(path)) {
    std::string name = fs::path(path).filename().string();
    name.resize(name.size() - kGgufEnding.size() - number_in_set(name).size());
    return name;
  }
  fs::path folder = fs::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  const fs::path parent = folder.parent_path();
  const bool is_snapshot = parent.filename() == "snapshots";
  const std::string repository = repository_name((is_snapshot ? parent.parent_path() : folder).filename().string());
  return repository.empty() ? folder.filename().string() : repository;
}

bool is_gguf_file(const std::string& path) {
  constexpr std::string_view kMagic = "GGUF";
  if (has_gguf_ending(path)) return true;
  std::error_code problem;
  // A FIFO or a device would block, and its bytes would be gone.
  if (!fs::is_regular_file(path, problem)) return false;
  std::string magic(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(magic.data(), static_cast<std::streamsize>(magic.size())) && magic == kMagic;
}

}  // namespace lathe::engine
