// SPDX-License-Identifier: Apache-2.0
// WeightFiles: the safetensors files of a folder that make up the model, and the file of each tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

inline constexpr std::string_view kIndexFile = "model.safetensors.index.json";

struct WeightFiles {
  std::vector<std::string> names;
  /// File of each tensor, from the index. Empty: no index is used.
  std::map<std::string, std::string> weight_map;
  std::map<std::string, Error> missing;  ///< files of the index that do not exist, and the error for a reader that needs one
  Json total_size;                       ///< metadata.total_size of that index; null: absent
  std::vector<std::string> warnings;     ///< texts about files that are not used
};

/// Whether a folder has a safetensors file with weights, or an index.
bool has_weight_files(const ModelFolder& folder);

/// Chooses, in this order: all files of an index, if all exist and model.safetensors is one of them or does not exist;
/// model.safetensors; the files of the only complete set "name-00001-of-00003.safetensors"; the existing files of an index;
/// the only file. An ignored index gives a warning. Errors: model_refused with the file that is missing or broken, or with
/// the names among which the choice is open.
Result<WeightFiles> find_weight_files(const ModelFolder& folder);

}  // namespace lathe::engine
