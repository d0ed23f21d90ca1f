// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/config_source.h"

#include "engine/load/gguf/gguf_config.h"
#include "engine/load/gguf/gguf_files.h"

namespace lathe::engine {

Result<Json> read_config_json(const ModelFolder& folder) {
  if (folder.gguf().empty()) return folder.read_json("config.json");
  LATHE_TRY(const std::vector<GgufFile> files, open_gguf_set(folder));
  std::vector<GgufTensor> tensors;
  for (const GgufFile& file : files)
    tensors.insert(tensors.end(), file.header.tensors().begin(), file.header.tensors().end());
  return gguf_config(files.front().header, tensors);
}

Result<Json> read_generation_json(const ModelFolder& folder) {
  if (folder.gguf().empty()) return folder.read_json_if_present("generation_config.json");
  return Json::object();
}

}  // namespace lathe::engine
