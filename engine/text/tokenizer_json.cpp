// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_json.h"

#include "engine/text/tokenizer_assembly.h"
#include "engine/text/tokenizer_json_file.h"

namespace lathe::engine {

Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const ModelFolder& folder, const std::string& file) {
  LATHE_TRY(const TokenizerDescription description, read_tokenizer_json(folder, file));
  LATHE_TRY(const TokenizerConfig config, read_tokenizer_config(folder));
  return assemble_tokenizer(description, config);
}

}  // namespace lathe::engine
