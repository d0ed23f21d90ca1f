// SPDX-License-Identifier: Apache-2.0
// Prefix of the names of a model's tensors, found by what the files contain: a text model may be part of any larger model.
#pragma once

#include <string>

#include "engine/load/checkpoint.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// As NamePrefix, with strings of its own.
struct FoundPrefix {
  std::string body{}, head{};
};

/// The first of Architecture::prefixes under which the files have the embeddings; else a prefix under which they have
/// embeddings of the text model's size and its first layer (`thinker.model.`); else the first of all.
FoundPrefix find_prefix(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace lathe::engine
