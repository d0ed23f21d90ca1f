// SPDX-License-Identifier: Apache-2.0
// ModelFolder: opens the files of a checkpoint folder, or of one GGUF model in a folder, and nothing outside of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/mapped_file.h"

namespace lathe::engine {

/// File names come from untrusted index files, so each is resolved beneath the folder by the system and must be a regular
/// file. In the Hugging Face cache, where snapshots/<revision>/x links to ../../blobs/<sha>, the folder that holds both is
/// the border.
class ModelFolder {
 public:
  /// `path`: a folder, or a GGUF file. Errors: not_found, model_refused when it is neither, or when the folder has no
  /// config.json and several GGUF models.
  static Result<ModelFolder> open(const std::string& path);
  /// A folder, whichever GGUF models lie in it. Errors: not_found, model_refused when it is none.
  static Result<ModelFolder> open_files(const std::string& path);

  /// What open() was given, in full: of a GGUF file its own path.
  const std::string& path() const { return path_; }
  /// The folder's name; "organisation/model" in the Hugging Face cache; of a GGUF file its name without the ending.
  const std::string& name() const { return name_; }
  /// The GGUF file that holds config, tokenizer and the first weights; empty: each has files of its own.
  const std::string& gguf() const { return gguf_; }

  bool has(std::string_view file) const;
  /// Errors: model_refused when it is missing, lies outside or is no regular file.
  Result<std::shared_ptr<const MappedFile>> map(std::string_view file) const;
  /// The whole text. Errors: as map, and when it is longer than `max_bytes`.
  Result<std::string> read_text(std::string_view file, std::int64_t max_bytes) const;
  /// An object in a file. Errors: as read_text, model_refused when it is not JSON or no object.
  Result<Json> read_json(std::string_view file) const;
  /// The same, or an empty object when the file is not there.
  Result<Json> read_json_if_present(std::string_view file) const;

 private:
  Result<FileDescriptor> open_file(std::string_view file) const;

  std::string path_, name_, gguf_;
  std::string border_;         ///< the folder that nothing may leave
  std::string inside_border_;  ///< from there to path_, "" or ending in '/'
  FileDescriptor border_descriptor_;
};

/// What is wrong with a file name out of an index, or nothing. Nothing is opened.
std::optional<std::string> unsafe_file_name(std::string_view name);

}  // namespace lathe::engine
