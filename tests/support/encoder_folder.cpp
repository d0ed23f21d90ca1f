// SPDX-License-Identifier: Apache-2.0
#include "tests/support/encoder_folder.h"

#include <filesystem>

#include "engine/api/json.h"
#include "tests/support/shared_data.h"

namespace lathe::tests {

EncoderFolder::EncoderFolder(const std::string& name) {
  namespace fs = std::filesystem;
  fs::copy(source_path("tests/fixtures/embeddings/" + name), path(),
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 96; ++i) vocabulary += "t" + std::to_string(i) + "\n";
  write("vocab.txt", vocabulary);
}

void EncoderFolder::pool(const std::string& kind, bool normalises) const {
  engine::Json modules = engine::Json::array();
  for (const char* type : {"Transformer", "Pooling", "Normalize"}) {
    if (type == std::string("Normalize") && !normalises) continue;
    modules.push_back({{"type", std::string("sentence_transformers.models.") + type},
                       {"path", type == std::string("Pooling") ? "1_Pooling" : ""}});
  }
  write("modules.json", modules.dump());
  engine::Json pooling;
  for (const char* known : {"mean_tokens", "cls_token", "lasttoken"}) {
    pooling[std::string("pooling_mode_") + known] = std::string(known).starts_with(kind);
  }
  write("1_Pooling/config.json", pooling.dump());
}

}  // namespace lathe::tests
