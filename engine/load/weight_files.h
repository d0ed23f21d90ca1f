// SPDX-License-Identifier: Apache-2.0
// WeightFiles: which safetensors files of a folder make up the model, and which of them has each tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

inline constexpr std::string_view kIndexFile = "model.safetensors.index.json";

struct WeightFiles {
  std::vector<std::string> names;
  /// Tensor to file, as the index has them. Empty: no index is used.
  std::map<std::string, std::string> weight_map;
  std::map<std::string, Error> missing;  ///< files that the index names, and the error of who needs them
  Json total_size;                       ///< metadata.total_size of that index; null: it does not say
  std::vector<std::string> warnings;     ///< files of the folder that are not used, for people
};

/// Whether a folder has a file of weights in this format, or an index.
bool has_weight_files(const ModelFolder& folder);

/// In this order: the files of an index that are all there, unless model.safetensors is there and not among them;
/// model.safetensors; the files of one whole set "name-00001-of-00003.safetensors"; those files of an index that are there;
/// the only file there is. An index that is not followed is warned of. Errors: model_refused with the file that is missing
/// or broken, or the names that leave a choice.
Result<WeightFiles> find_weight_files(const ModelFolder& folder);

}  // namespace lathe::engine
