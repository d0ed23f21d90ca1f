// SPDX-License-Identifier: Apache-2.0
// ModelFolder: opens the files of a checkpoint folder, or of one GGUF model in a folder, and nothing that a name in them
// finds elsewhere.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/mapped_file.h"

namespace lathe::engine {

/// An entry of the folder may be a link to anywhere, as in the Hugging Face cache and in stores on other disks; it must lead
/// to a regular file. Names may come from files of strangers, an index or a list of modules: such a name may not go up, and
/// folders in it must be beneath the model's.
class ModelFolder {
 public:
  /// `path`: a folder, that of a repository in the Hugging Face cache, or a GGUF file. Errors: not_found, model_refused when
  /// it is none of these, or when the folder has no weights of its own and several GGUF models.
  static Result<ModelFolder> open(const std::string& path);
  /// A folder, whichever GGUF models lie in it. Errors: not_found, model_refused when it is none.
  static Result<ModelFolder> open_files(const std::string& path);

  /// The path that open() was given, in full: of a GGUF file its own path, of a repository that of its snapshot.
  const std::string& path() const { return path_; }
  /// The folder's name; "organisation/model" in the Hugging Face cache; of a GGUF file its name without the ending.
  const std::string& name() const { return name_; }
  /// The GGUF file that holds config, tokenizer and the first weights; empty: each has files of its own.
  const std::string& gguf() const { return gguf_; }
  /// The choices of open() that the path left to it, for people.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Whatever it is: a file that is there but may not be read is an error later, not an absent file.
  bool has(std::string_view file) const;
  /// Names of its entries that are no folders, sorted.
  std::vector<std::string> files() const;
  /// Errors: model_refused when it is missing, leads outside, is no regular file, or its download is not finished.
  Result<std::shared_ptr<const MappedFile>> map(std::string_view file) const;
  /// The whole text. Errors: as map; when it is longer than `max_bytes`, or a stand-in (stand_in.h).
  Result<std::string> read_text(std::string_view file, std::int64_t max_bytes) const;
  /// An object in a file, as Python reads it. Errors: as read_text, model_refused when it is not JSON or no object.
  Result<Json> read_json(std::string_view file) const;
  /// The same, or an empty object when the file is not there.
  Result<Json> read_json_if_present(std::string_view file) const;
  /// The same of a file that a model can do without: when it cannot be read, an empty object and a warning.
  Json read_optional_json(std::string_view file, std::vector<std::string>& warnings) const;

 private:
  Result<FileDescriptor> open_file(std::string_view file) const;

  std::string path_, name_, gguf_;
  std::vector<std::string> warnings_;
  std::string folder_;  ///< in full
  FileDescriptor folder_descriptor_;
};

/// What is wrong with a file name out of an index, or nothing. Nothing is opened.
std::optional<std::string> unsafe_file_name(std::string_view name);

}  // namespace lathe::engine
