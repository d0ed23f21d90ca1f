// SPDX-License-Identifier: Apache-2.0
// Reads and writes an entry of the packed cache as a file: the key, the parts of an image with their sizes and hashes, and
// their bytes.
// Layout, little-endian: "LATHEPCK", u32 version, u32 n_parts, key, u64 bytes of the file; for each part u64 bytes and its
// hash; the hash of everything before; from the next multiple of 4096 on the parts without gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/api/result.h"
#include "engine/model/layers/weight_image.h"
#include "engine/packed/content_hash.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Receives the bytes moved so far at intervals; returning false cancels.
using PackedObserver = std::function<bool(std::int64_t bytes_done)>;

/// Size of the file that holds the image. Units: bytes.
std::int64_t entry_bytes(const WeightImage& image);

/// Writes the entry at the beginning of an empty file. Errors: cancelled; resource_exhausted with the system's text.
Result<void> write_entry(int file, const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                         const PackedObserver& observer);

/// Fills the image directly from the file, on the threads of the backend, without a second copy in this process.
/// Errors: cancelled; model_refused when the file is another entry or incomplete; then the image's content is undefined.
Result<void> read_entry(int file, const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                        const PackedObserver& observer);

}  // namespace lathe::engine
