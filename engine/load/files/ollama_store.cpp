// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/ollama_store.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/api/checkpoint.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlobPrefix = "sha256-";
constexpr std::size_t kDigits = 64;
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";
/// Registry and namespace that ollama omits from a name.
constexpr std::string_view kOwnRegistry = "registry.ollama.ai", kOwnNamespace = "library";
constexpr std::size_t kMaxManifests = 10'000;
constexpr int kDepth = 3;  // folders between manifests/ and a manifest: registry, namespace, model
/// Manifests of released models stay below 2 KiB.
constexpr std::int64_t kMaxManifestBytes = 1 << 20;

/// "registry.ollama.ai/library/llama3.2/1b" -> "llama3.2:1b"
std::string name_of_manifest(const fs::path& relative) {
  const std::vector<fs::path> parts(relative.begin(), relative.end());
  std::string name = parts[2].string() + ":" + parts[3].string();
  const bool own = parts[0] == kOwnRegistry;
  if (!own || parts[1] != kOwnNamespace) name = parts[1].string() + "/" + name;
  return own ? name : parts[0].string() + "/" + name;
}

/// The file name of the blob in the layer that holds the model; empty when the manifest names none. The digest comes from an
/// untrusted file: anything but an exact digest could lead to other files.
std::string blob_of(const ModelFolder& folder, const std::string& file) {
  const auto text = folder.read_text(file, kMaxManifestBytes);
  if (!text) return {};
  const auto manifest = parse_json(*text, file);
  if (!manifest || !manifest->is_object()) return {};
  const auto layers = manifest->find("layers");
  if (layers == manifest->end() || !layers->is_array()) return {};
  for (const Json& layer : *layers) {
    if (!layer.is_object()) continue;
    const auto type = layer.find("mediaType"), digest = layer.find("digest");
    if (type == layer.end() || *type != kModelLayer || digest == layer.end() || !digest->is_string()) continue;
    const auto& value = digest->get_ref<const std::string&>();
    if (!value.starts_with(kDigestPrefix)) continue;
    const std::string name = std::string(kBlobPrefix) + value.substr(kDigestPrefix.size());
    if (is_blob_name(name)) return name;
  }
  return {};
}

}  // namespace

bool is_ollama_store(const std::string& folder) {
  std::error_code problem;
  return fs::is_directory(fs::path(folder) / "manifests", problem) && fs::is_directory(fs::path(folder) / "blobs", problem);
}

bool is_blob_name(std::string_view file_name) {
  return file_name.size() == kBlobPrefix.size() + kDigits && file_name.starts_with(kBlobPrefix) &&
         file_name.find_first_not_of("0123456789abcdef", kBlobPrefix.size()) == std::string_view::npos;
}

std::string ollama_name_of(const std::string& blob) {
  const fs::path path = fs::path(blob).lexically_normal();
  if (!is_blob_name(path.filename().string()) || path.parent_path().filename() != "blobs") return {};
  for (const OllamaModel& model : ollama_models_in(path.parent_path().parent_path().string())) {
    if (fs::path(model.path).filename() == path.filename()) return model.name;
  }
  return {};
}

std::vector<OllamaModel> ollama_models_in(const std::string& store) {
  std::vector<OllamaModel> models;
  const fs::path manifests = fs::path(store) / "manifests";
  std::error_code problem;
  if (!is_ollama_store(store)) return models;
  const auto folder = ModelFolder::open_files(manifests.string());
  if (!folder) return models;
  // Links are not followed: ollama makes none, and they could go in a circle.
  fs::recursive_directory_iterator entry(manifests, fs::directory_options::skip_permission_denied, problem), end;
  for (; !problem && entry != end && models.size() < kMaxManifests; entry.increment(problem)) {
    std::error_code unreadable;
    if (entry.depth() >= kDepth) entry.disable_recursion_pending();
    if (entry.depth() != kDepth || !entry->is_regular_file(unreadable)) continue;
    const fs::path relative = entry->path().lexically_relative(manifests);
    const std::string blob = blob_of(*folder, relative.string());
    models.push_back({.name = name_of_manifest(relative),
                      .path = blob.empty() ? entry->path().string() : (fs::path(store) / "blobs" / blob).string()});
  }
  std::sort(models.begin(), models.end(), [](const OllamaModel& a, const OllamaModel& b) { return a.name < b.name; });
  return models;
}

}  // namespace lathe::engine
