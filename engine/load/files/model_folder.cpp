// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/model_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/api/checkpoint.h"
#include "engine/api/python_json.h"
#include "engine/base/text_file.h"
#include "engine/load/files/downloads.h"
#include "engine/load/files/hub_cache.h"
#include "engine/load/files/ollama_store.h"
#include "engine/load/files/stand_in.h"

namespace lathe::engine {

namespace fs = std::filesystem;

namespace {

// config.json, index and tokenizer_config.json of released models stay below 4 MiB.
constexpr std::int64_t kMaxJsonBytes = 64LL << 20;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::string_view kConfig = "config.json";

/// Calls openat2() with O_PATH, which does not open the target for reading: a FIFO cannot block, and a device is not
/// touched.
int find_with_rules(int folder, const std::string& file, std::uint64_t rules, std::uint64_t flags) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = rules;
  // openat2() returns EAGAIN for a path with ".." (links may have one) when another file was renamed meanwhile; then it is
  // called again.
  constexpr int kMaxTries = 1000;
  int found = -1;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    found = static_cast<int>(::syscall(SYS_openat2, folder, file.c_str(), &how, sizeof how));
    if (found >= 0 || errno != EAGAIN) break;
  }
  return found;
}

/// Replaces RESOLVE_BENEATH on systems without openat2: checks the resolved path.
int find_folder_by_real_path(const std::string& border, const std::string& folder) {
  std::error_code problem;
  const fs::path real = fs::canonical(fs::path(border) / folder, problem);
  if (problem) {
    errno = problem.value();
    return -1;
  }
  const fs::path relative = real.lexically_relative(border);
  if (relative.empty() || *relative.begin() == "..") {
    errno = EXDEV;
    return -1;
  }
  return ::open(real.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
}

bool is_without_openat2() { return errno == ENOSYS || errno == EPERM; }

/// Opens a folder by a name from the files; it must be beneath the model's folder. Errors: in errno.
FileDescriptor find_folder(int border, const std::string& border_path, const std::string& folder) {
  const int found = find_with_rules(border, folder, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, O_DIRECTORY);
  return FileDescriptor(found < 0 && is_without_openat2() ? find_folder_by_real_path(border_path, folder) : found);
}

/// Opens an entry of a folder, or the target of a link, wherever that is. Errors: in errno.
FileDescriptor find_entry(int folder, const std::string& name) {
  const int found = find_with_rules(folder, name, RESOLVE_NO_MAGICLINKS, 0);
  const bool again = found < 0 && is_without_openat2();
  return FileDescriptor(again ? ::openat(folder, name.c_str(), O_PATH | O_CLOEXEC) : found);
}

/// The target of a link; empty when the path is no link.
std::string target_of(const fs::path& path) {
  std::error_code problem;
  return fs::is_symlink(path, problem) ? fs::read_symlink(path, problem).string() : std::string();
}

std::string why_not_found(int error, const fs::path& path) {
  switch (error) {
    case ENOENT:
      if (const std::string target = target_of(path); !target.empty()) {
        return fmt::format("file is missing: it is a link to {:.200}, which does not exist", target);
      }
      return "file is missing" + downloads_text(path.parent_path().string(), path.filename().string());
    case EXDEV: return "leads out of the model folder";
    case ELOOP: return "symbolic links go in a circle, or through /proc";
    case ENAMETOOLONG: return "file name is too long";
    case EACCES: return "permission denied: the user who runs this program has no right to read it";
    default: return std::string("cannot be opened: ") + std::strerror(error);
  }
}

std::string_view kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? " but a folder"
         : S_ISFIFO(mode) ? " but a pipe"
         : S_ISSOCK(mode) ? " but a socket"
                          : " but a device";
}

/// The only GGUF model of a folder that has no other weights; empty when the folder has no GGUF model or has other weights.
Result<std::string> only_gguf_in(const ModelFolder& folder) {
  const std::vector<std::string> files = folder.files();
  const auto is_weights = [](std::string_view name) {
    return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
  };
  if (folder.has(kConfig) && std::any_of(files.begin(), files.end(), is_weights)) return std::string();
  const std::vector<std::string> names = gguf_models_in(folder.path());
  if (names.empty()) return std::string();
  if (names.size() == 1) return names.front();
  return fail(ErrorCode::model_refused,
              fmt::format("the folder has {} GGUF models: {:.600}; give the path of one of them", names.size(),
                          fmt::format("{}", fmt::join(names, ", "))),
              folder.name());
}

/// The first bytes of a file that a user named; empty for anything that cannot be read without blocking.
std::string begin_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string begin(kStandInBytes, '\0');
  const ssize_t n = ::pread(file.get(), begin.data(), begin.size(), 0);
  begin.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return begin;
}

tl::unexpected<Error> refuse_file(const std::string& path) {
  std::string message =
      fmt::format("{:.300} is a file; give the folder that holds config.json and model.safetensors, or a .gguf file", path);
  if (const auto words = stand_in_for_text(begin_of(path))) message += fmt::format("; it {:.300}", *words);
  if (is_unfinished_download(path)) message += "; its name is that of an unfinished download";
  return fail(ErrorCode::model_refused, std::move(message), path);
}

tl::unexpected<Error> refuse_absent(const std::string& path, int error) {
  if ((error == ENOENT || error == ENOTDIR) && target_of(path).empty()) {
    return fail(ErrorCode::not_found, fmt::format("no such model folder: {:.500}", path), path);
  }
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : ErrorCode::model_refused;
  return fail(code, why_not_found(error, path), path);
}

}  // namespace

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
  if (is_shape_path(path)) {
    ModelFolder folder;
    LATHE_TRY(folder.shape_, find_shape(path));
    folder.path_ = path;
    folder.name_ = folder.shape_->name;
    return folder;
  }
  std::error_code problem;
  if (fs::is_directory(path, problem)) {
    LATHE_TRY(ModelFolder folder, open_files(path));
    LATHE_TRY(folder.gguf_, only_gguf_in(folder));
    if (!folder.gguf_.empty() || folder.has(kConfig)) return folder;
    LATHE_TRY(const auto snapshot, find_hub_snapshot(path));
    if (!snapshot) return folder;
    LATHE_TRY(ModelFolder inner, open_files(snapshot->path));
    LATHE_TRY(inner.gguf_, only_gguf_in(inner));
    if (!snapshot->warning.empty()) inner.warnings_.push_back(snapshot->warning);
    return inner;
  }
  // The path stays unresolved: the cache links to a blob of another name, and the other files of the model are next to the
  // link.
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
  if (problem) return refuse_absent(path, problem.value());
  if (!fs::is_directory(real, problem)) return refuse_file(path);
  ModelFolder folder;
  folder.path_ = folder.folder_ = real.string();
  folder.name_ = checkpoint_name(folder.path_);
  folder.folder_descriptor_ = FileDescriptor(::open(real.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.folder_descriptor_) return refuse_absent(path, errno);
  return folder;
}

Result<FileDescriptor> ModelFolder::open_file(std::string_view file) const {
  const std::string where(file);
  if (shape_ != nullptr) return fail(ErrorCode::model_refused, "a shape has no such file", where);
  if (const auto unsafe = unsafe_file_name(file)) return fail(ErrorCode::model_refused, *unsafe, where);
  const fs::path relative(where);
  FileDescriptor inner;
  if (relative.has_parent_path()) {
    inner = find_folder(folder_descriptor_.get(), folder_, relative.parent_path().string());
    if (!inner) return fail(ErrorCode::model_refused, why_not_found(errno, fs::path(folder_) / relative), where);
  }
  const FileDescriptor found = find_entry((inner ? inner : folder_descriptor_).get(), relative.filename().string());
  if (!found) return fail(ErrorCode::model_refused, why_not_found(errno, fs::path(folder_) / relative), where);
  struct stat status {};
  if (::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::model_refused, fmt::format("not a regular file{}", kind_of(status.st_mode)), where);
  }
  FileDescriptor opened(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail(ErrorCode::model_refused, why_not_found(errno, fs::path(folder_) / relative), where);
  return opened;
}

bool ModelFolder::has(std::string_view file) const {
  if (shape_ != nullptr) return file == kConfig;
  struct stat status {};
  const std::string name(file);
  if (::fstatat(folder_descriptor_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  return errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG;
}

std::vector<std::string> ModelFolder::files() const {
  if (shape_ != nullptr) return {std::string(kConfig)};
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
    std::error_code unreadable;
    if (!entry->is_directory(unreadable)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::shared_ptr<const MappedFile>> ModelFolder::map(std::string_view file) const {
  // aria2 creates a file with its full length at once, so missing parts read as zeros.
  const std::string control = std::string(file) + ".aria2";
  LATHE_TRY(FileDescriptor opened, open_file(file));
  if (has(control)) {
    return fail(ErrorCode::model_refused,
                fmt::format("its download is not finished, because {:.200} exists; let aria2 finish it, or remove that file",
                            control),
                std::string(file));
  }
  return MappedFile::map(opened.release(), std::string(file));
}

Result<std::string> ModelFolder::read_text(std::string_view file, std::int64_t max_bytes) const {
  if (shape_ != nullptr && file == kConfig) return std::string(shape_->config);
  LATHE_TRY(const FileDescriptor opened, open_file(file));
  LATHE_TRY(std::string text, read_text_file(opened, std::string(file), static_cast<std::size_t>(max_bytes)));
  if (auto words = stand_in_for_text(text)) return fail(ErrorCode::model_refused, std::move(*words), std::string(file));
  return text;
}

Result<void> ModelFolder::override_config(const std::string& overrides) {
  if (overrides.empty()) return {};
  auto json = parse_json(overrides, "hf_overrides");
  if (!json || !json->is_object()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("must be a JSON object of members of config.json{}", json ? "" : ": " + json.error().message),
                "hf_overrides");
  }
  if (!gguf_.empty()) return fail(ErrorCode::unsupported, "a GGUF file has no config.json to override", "hf_overrides");
  config_overrides_ = std::move(*json);
  return {};
}

Result<Json> ModelFolder::read_json(std::string_view file) const {
  LATHE_TRY(const std::string text, read_text(file, kMaxJsonBytes));
  if (text.empty()) {
    return fail(ErrorCode::model_refused, "is empty (0 bytes): its download or writing never began; download it again",
                std::string(file));
  }
  auto json = parse_python_json(text, file);
  if (!json && json.error().code == ErrorCode::resource_exhausted) return json;
  if (!json) return fail(ErrorCode::model_refused, json.error().message, std::string(file));
  if (!json->is_object()) return fail(ErrorCode::model_refused, "must hold a JSON object", std::string(file));
  if (file == kConfig) json->update(config_overrides_);
  return std::move(*json);
}

Result<Json> ModelFolder::read_json_if_present(std::string_view file) const {
  if (!has(file)) return Json::object();
  return read_json(file);
}

Json ModelFolder::read_optional_json(std::string_view file, std::vector<std::string>& warnings) const {
  auto json = read_json_if_present(file);
  if (json) return std::move(*json);
  warnings.push_back(fmt::format("{} is left out: {}", file, json.error().message));
  return Json::object();
}

}  // namespace lathe::engine
