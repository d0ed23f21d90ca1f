// SPDX-License-Identifier: Apache-2.0
#include "app/library/standard_folders.h"

#include <filesystem>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHub = "Hugging Face cache";
constexpr const char* kLmStudio = "LM Studio";
constexpr const char* kOllama = "ollama";
/// Model folder of the service that ollama's installer creates on Linux.
constexpr const char* kOllamaService = "/usr/share/ollama/.ollama/models";

/// Replaces "~" and "~/..." by the home folder, for values that no shell has expanded, such as quoted ones or those in
/// service files. Another user's "~name" is unchanged.
std::string expanded(std::string path, const std::string& home) {
  const bool is_of_home = path == "~" || path.starts_with("~/");
  return is_of_home && !home.empty() ? home + path.substr(1) : path;
}

std::string hub_cache(const Environment& environment, const std::string& home) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (std::string folder = environment(name); !folder.empty()) return folder;
  }
  if (const std::string folder = environment("HF_HOME"); !folder.empty()) return (fs::path(folder) / "hub").string();
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    return (fs::path(cache) / "huggingface/hub").string();
  }
  return home.empty() ? std::string() : (fs::path(home) / ".cache/huggingface/hub").string();
}

}  // namespace

std::vector<WatchedFolder> standard_model_folders(const Environment& environment, const std::string& home) {
  std::vector<WatchedFolder> folders;
  const auto add = [&](const std::string& found, const char* kind) {
    std::string path = expanded(found, home);
    std::error_code problem;
    const bool is_there = fs::is_directory(path, problem);
    folders.push_back({.path = std::move(path), .kind = kind, .is_there = is_there});
  };
  if (const std::string hub = hub_cache(environment, home); !hub.empty()) add(hub, kHub);
  if (!home.empty()) {
    add((fs::path(home) / ".lmstudio/models").string(), kLmStudio);
    add((fs::path(home) / ".cache/lm-studio/models").string(), kLmStudio);
  }
  if (const std::string models = environment("OLLAMA_MODELS"); !models.empty()) {
    add(models, kOllama);
  } else {
    if (!home.empty()) add((fs::path(home) / ".ollama/models").string(), kOllama);
    add(kOllamaService, kOllama);
  }
  return folders;
}

}  // namespace lathe::app
