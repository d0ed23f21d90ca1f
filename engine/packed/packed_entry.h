// SPDX-License-Identifier: Apache-2.0
// An entry of the packed cache as a file: the key, the parts of an image with their sizes and hashes, and their bytes.
// Layout, little-endian: "LATHEPCK", u32 version, u32 n_parts, key, u64 bytes of the file; for each part u64 bytes and its
// hash; the hash of all that; from the next multiple of 4096 on the parts, one behind the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/api/result.h"
#include "engine/model/layers/weight_image.h"
#include "engine/packed/content_hash.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Gets the bytes moved so far, now and then; false stops.
using PackedObserver = std::function<bool(std::int64_t bytes_done)>;

/// Units: bytes of the file that holds the image.
std::int64_t entry_bytes(const WeightImage& image);

/// Writes at the beginning of an empty file. Errors: cancelled; resource_exhausted with the system's words.
Result<void> write_entry(int file, const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                         const PackedObserver& observer);

/// Fills the image, on the threads of the backend, straight from the file: there is no second copy in this process.
/// Errors: cancelled; model_refused when it is not this entry or not whole, and then the image holds anything.
Result<void> read_entry(int file, const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                        const PackedObserver& observer);

}  // namespace lathe::engine
