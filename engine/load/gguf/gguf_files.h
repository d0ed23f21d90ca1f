// SPDX-License-Identifier: Apache-2.0
// Opens the files of one GGUF model: a single file, or a set "name-00001-of-00003.gguf" whose first file has the metadata.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/mapped_file.h"
#include "engine/load/checkpoint.h"
#include "engine/load/files/model_folder.h"
#include "engine/load/gguf/gguf_families.h"
#include "engine/load/gguf/gguf_header.h"

namespace lathe::engine {

/// Owns: the mapping that the header reads from.
struct GgufFile {
  std::shared_ptr<const MappedFile> mapped;
  GgufHeader header;
};

/// Opens the file with the metadata. Requires: folder.gguf() names one. Errors: model_refused.
Result<GgufFile> open_gguf(const ModelFolder& folder);
/// Opens all files of the set, the one with the metadata first. Requires and errors: as open_gguf; also when a file is
/// missing.
Result<std::vector<GgufFile>> open_gguf_set(const ModelFolder& folder);

/// The tensors of one file under the names of the family's own files; shape, type and offset are checked, and stacks of
/// experts are split. Errors: model_refused with the file and the tensor's GGUF name.
Result<std::vector<StoredTensor>> gguf_tensors(const GgufHeader& header, const GgufFamily& family);

}  // namespace lathe::engine
