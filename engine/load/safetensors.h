// SPDX-License-Identifier: Apache-2.0
// The safetensors format: one file, or shards named by model.safetensors.index.json.
// Layout: u64 little-endian header length N, N bytes of JSON, the tensors' bytes. Source: huggingface/safetensors, README.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/load/loaders.h"

namespace lathe::engine {

/// The element type of this name; null: the format has none.
const StoredType* find_safetensors_type(std::string_view name);

/// Parses one file, whose tensors must tile its data exactly: no hole, no overlap, nothing after the last tensor.
/// Cost: at most about twice the header, whatever the header claims. Errors: model_refused, `where` = "name: tensor".
Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> file, const std::string& name);

}  // namespace lathe::engine
