// SPDX-License-Identifier: Apache-2.0
// ModelFolder: opens the files of a checkpoint folder, or of one GGUF model in a folder; names inside those files cannot
// lead out of the folder. A shape (model_shapes.h) is a folder in memory that has a config.json alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/model_shapes.h"
#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/mapped_file.h"

namespace lathe::engine {

/// An entry of the folder may be a link to anywhere, as in the Hugging Face cache and in stores on other disks; it must lead
/// to a regular file. Names may come from untrusted files, such as an index or a list of modules: such a name may not
/// contain "..", and folders in it must be beneath the model's.
class ModelFolder {
 public:
  /// Opens a folder, the folder of a repository in the Hugging Face cache, a GGUF file, or a shape. Errors: not_found;
  /// model_refused when `path` is none of these, or when the folder has no weights of its own and several GGUF models.
  static Result<ModelFolder> open(const std::string& path);
  /// Opens a folder without choosing among GGUF models in it. Errors: not_found, model_refused when it is no folder.
  static Result<ModelFolder> open_files(const std::string& path);

  /// The absolute path that was opened: for a GGUF file its own path, for a repository the path of its snapshot.
  const std::string& path() const { return path_; }
  /// The folder's name; "organisation/model" in the Hugging Face cache; for a GGUF file its name without the ending.
  const std::string& name() const { return name_; }
  /// The GGUF file that holds config, tokenizer and the first weights; empty: these are separate files.
  const std::string& gguf() const { return gguf_; }
  /// The shape whose config.json this is; null: the files exist.
  const ModelShape* shape() const { return shape_; }
  /// The choices that open() made because the path left them open, as texts for people.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Replaces members of config.json for all who read it. `overrides`: a JSON object; empty: nothing is replaced. Errors:
  /// invalid_argument at "hf_overrides"; unsupported for a GGUF file, which has no config.json.
  Result<void> override_config(const std::string& overrides);

  /// Whether an entry of any type exists: a file that may not be read is an error later, not an absent file.
  bool has(std::string_view file) const;
  /// Names of all entries that are no folders, sorted.
  std::vector<std::string> files() const;
  /// Maps a file. Errors: model_refused when it is missing, leads outside, is no regular file, or its download is not
  /// finished.
  Result<std::shared_ptr<const MappedFile>> map(std::string_view file) const;
  /// Reads a whole text file. Errors: as map; also when it is longer than `max_bytes`, or a stand-in (stand_in.h).
  Result<std::string> read_text(std::string_view file, std::int64_t max_bytes) const;
  /// Reads a file that holds one JSON object, parsed as Python does. Errors: as read_text; model_refused when it is not JSON
  /// or no object.
  Result<Json> read_json(std::string_view file) const;
  /// As read_json, or an empty object when the file does not exist.
  Result<Json> read_json_if_present(std::string_view file) const;
  /// As read_json, for a file that a model can do without: an unreadable file gives an empty object and a warning.
  Json read_optional_json(std::string_view file, std::vector<std::string>& warnings) const;

 private:
  Result<FileDescriptor> open_file(std::string_view file) const;

  std::string path_, name_, gguf_;
  std::vector<std::string> warnings_;
  std::string folder_;  ///< absolute path
  FileDescriptor folder_descriptor_;
  const ModelShape* shape_ = nullptr;
  Json config_overrides_ = Json::object();
};

/// Says why a file name from an index is unsafe; nothing if it is safe. Opens no file.
std::optional<std::string> unsafe_file_name(std::string_view name);

}  // namespace lathe::engine
