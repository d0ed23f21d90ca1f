// SPDX-License-Identifier: Apache-2.0
#include "engine/load/model_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/api/checkpoint.h"
#include "engine/base/text_file.h"
#include "engine/load/ollama_store.h"

namespace lathe::engine {

namespace fs = std::filesystem;

namespace {

// config.json, index and tokenizer_config.json of released models stay below 4 MiB.
constexpr std::int64_t kMaxJsonBytes = 64LL << 20;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::string_view kGgufEnding = ".gguf";
/// Begins the names of files that hold the part of a model that sees, beside its text part.
constexpr std::string_view kProjector = "mmproj";

bool is_cache_snapshot(const fs::path& folder) {
  std::error_code ignored;
  return folder.parent_path().filename() == "snapshots" &&
         fs::is_directory(folder.parent_path().parent_path() / "blobs", ignored);
}

/// Finds the file without opening it for reading, so that a FIFO cannot block and a device is not touched.
int find_beneath(int border, const std::string& file) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // A name that goes up (links in the Hugging Face cache do) is to be tried again when something else on the system was
  // renamed meanwhile.
  constexpr int kMaxTries = 1000;
  int found = -1;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    found = static_cast<int>(::syscall(SYS_openat2, border, file.c_str(), &how, sizeof how));
    if (found >= 0 || errno != EAGAIN) break;
  }
  return found;
}

/// The same promise on systems without openat2, checked on the resolved path.
int find_by_real_path(const std::string& border, const std::string& file) {
  std::error_code problem;
  const fs::path real = fs::canonical(fs::path(border) / file, problem);
  if (problem) {
    errno = problem.value();
    return -1;
  }
  const fs::path relative = real.lexically_relative(border);
  if (relative.empty() || *relative.begin() == "..") {
    errno = EXDEV;
    return -1;
  }
  return ::open(real.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW);
}

std::string why_not_found(int error) {
  switch (error) {
    case ENOENT: return "file is missing";
    case EXDEV: return "leads out of the model folder";
    case ELOOP: return "symbolic links go in a circle";
    case ENAMETOOLONG: return "file name is too long";
    default: return std::string("cannot be opened: ") + std::strerror(error);
  }
}

/// Of "-00002-of-00003.gguf" at the end of a name the part before ".gguf"; empty where a name ends otherwise.
std::string_view number_in_set(std::string_view name) {
  constexpr std::size_t kSize = std::string_view("-00001-of-00001").size();
  const std::size_t ending = kSize + kGgufEnding.size();
  if (name.size() < ending || !name.ends_with(kGgufEnding)) return {};
  const std::string_view number = name.substr(name.size() - ending, kSize);
  return number[0] == '-' && number.substr(6, 4) == "-of-" ? number : std::string_view();
}

/// The one GGUF model of a folder that has no config.json; empty when it has none.
Result<std::string> only_gguf_in(const fs::path& folder) {
  std::error_code problem;
  if (fs::exists(folder / "config.json", problem)) return std::string();
  const std::vector<std::string> names = gguf_models_in(folder.string());
  if (names.empty()) return std::string();
  if (names.size() == 1) return names.front();
  return fail(ErrorCode::model_refused,
              fmt::format("{} GGUF models are here: {}; give the path of one of them", names.size(), fmt::join(names, ", ")),
              folder.filename().string());
}

}  // namespace

std::vector<std::string> gguf_models_in(const std::string& folder) {
  std::error_code problem;
  std::set<std::string> names;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    const std::string_view number = number_in_set(name);
    const bool is_later = !number.empty() && !number.starts_with("-00001-");
    if (name.ends_with(kGgufEnding) && !name.starts_with(kProjector) && !is_later) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::string checkpoint_name(const std::string& path) {
  constexpr std::string_view kPrefix = "models--";
  if (path.ends_with(kGgufEnding)) {
    std::string name = fs::path(path).filename().string();
    name.resize(name.size() - kGgufEnding.size() - number_in_set(name).size());
    return name;
  }
  fs::path folder = fs::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  std::string repository = folder.parent_path().parent_path().filename().string();
  if (folder.parent_path().filename() != "snapshots" || !repository.starts_with(kPrefix)) return folder.filename().string();
  repository.erase(0, kPrefix.size());
  if (const auto dashes = repository.find("--"); dashes != std::string::npos) repository.replace(dashes, 2, "/");
  return repository;
}

bool is_gguf_file(const std::string& path) {
  constexpr std::string_view kMagic = "GGUF";
  if (path.ends_with(kGgufEnding)) return true;
  std::error_code problem;
  // A FIFO or a device would block, and its bytes would be gone.
  if (!fs::is_regular_file(path, problem)) return false;
  std::string magic(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(magic.data(), static_cast<std::streamsize>(magic.size())) && magic == kMagic;
}

std::optional<std::string> unsafe_file_name(std::string_view name) {
  if (name.empty()) return "empty file name";
  if (name.size() > kMaxNameBytes) return fmt::format("file name of {} bytes, at most {}", name.size(), kMaxNameBytes);
  if (name.find('\0') != std::string_view::npos) return "file name with a NUL byte";
  if (name.find('\\') != std::string_view::npos) return "file name with a backslash";
  if (name.front() == '/' || (name.size() > 1 && name[1] == ':')) return "absolute file name";
  for (const fs::path& part : fs::path(name)) {
    if (part == "..") return "file name with '..'";
  }
  return std::nullopt;
}

Result<ModelFolder> ModelFolder::open(const std::string& path) {
  std::error_code problem;
  if (fs::is_directory(path, problem)) {
    LATHE_TRY(ModelFolder folder, open_files(path));
    LATHE_TRY(folder.gguf_, only_gguf_in(folder.path_));
    return folder;
  }
  // The cache links to a blob of another name, so what lies beside the file lies beside the link.
  const fs::path given = fs::absolute(path, problem);
  if (!is_gguf_file(path) || !fs::exists(given, problem)) return open_files(path);
  LATHE_TRY(ModelFolder folder, open_files(given.parent_path().string()));
  folder.gguf_ = given.filename().string();
  folder.name_ = ollama_name_of(given.string());
  if (folder.name_.empty()) folder.name_ = checkpoint_name(folder.gguf_);
  folder.path_ = (fs::path(folder.path_) / folder.gguf_).string();
  return folder;
}

Result<ModelFolder> ModelFolder::open_files(const std::string& path) {
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  if (problem) return fail(ErrorCode::not_found, fmt::format("no such model folder: {}", path), path);
  if (!fs::is_directory(real, problem)) {
    return fail(
        ErrorCode::model_refused,
        fmt::format("{} is a file; give the folder that holds config.json and model.safetensors, or a .gguf file", path),
        path);
  }
  ModelFolder folder;
  folder.path_ = real.string();
  folder.name_ = checkpoint_name(folder.path_);
  folder.border_ = folder.path_;
  if (is_cache_snapshot(real)) {
    const fs::path repository = real.parent_path().parent_path();
    folder.border_ = repository.string();
    folder.inside_border_ = "snapshots/" + real.filename().string() + "/";
  }
  folder.border_descriptor_ = FileDescriptor(::open(folder.border_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.border_descriptor_) {
    return fail(ErrorCode::not_found, fmt::format("cannot open {}: {}", path, std::strerror(errno)), path);
  }
  return folder;
}

Result<FileDescriptor> ModelFolder::open_file(std::string_view file) const {
  const std::string where(file);
  if (const auto unsafe = unsafe_file_name(file)) return fail(ErrorCode::model_refused, *unsafe, where);
  const std::string relative = inside_border_ + where;
  FileDescriptor found(find_beneath(border_descriptor_.get(), relative));
  if (!found && (errno == ENOSYS || errno == EPERM)) found = FileDescriptor(find_by_real_path(border_, relative));
  if (!found) return fail(ErrorCode::model_refused, why_not_found(errno), where);
  struct stat status {};
  if (::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::model_refused, "not a regular file", where);
  }
  FileDescriptor opened(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail(ErrorCode::model_refused, why_not_found(errno), where);
  return opened;
}

bool ModelFolder::has(std::string_view file) const {
  // Whatever it is: a file that is there but may not be read is an error later, not an absent file.
  struct stat status {};
  const std::string relative = inside_border_ + std::string(file);
  return ::fstatat(border_descriptor_.get(), relative.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::shared_ptr<const MappedFile>> ModelFolder::map(std::string_view file) const {
  LATHE_TRY(FileDescriptor opened, open_file(file));
  return MappedFile::map(opened.release(), std::string(file));
}

Result<std::string> ModelFolder::read_text(std::string_view file, std::int64_t max_bytes) const {
  LATHE_TRY(const FileDescriptor opened, open_file(file));
  return read_text_file(opened, std::string(file), static_cast<std::size_t>(max_bytes));
}

Result<Json> ModelFolder::read_json(std::string_view file) const {
  LATHE_TRY(const std::string text, read_text(file, kMaxJsonBytes));
  auto json = parse_json(text, file);
  if (!json && json.error().code == ErrorCode::resource_exhausted) return json;
  if (!json) return fail(ErrorCode::model_refused, json.error().message, std::string(file));
  if (!json->is_object()) return fail(ErrorCode::model_refused, "must hold a JSON object", std::string(file));
  return std::move(*json);
}

Result<Json> ModelFolder::read_json_if_present(std::string_view file) const {
  if (!has(file)) return Json::object();
  return read_json(file);
}

}  // namespace lathe::engine
