// SPDX-License-Identifier: Apache-2.0
// Writes a checkpoint anew, in the numbers that an engine would compute with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/api/engine.h"
#include "engine/api/options.h"
#include "engine/api/result.h"

namespace lathe::engine {

struct ConvertOptions {
  std::string output;        ///< folder, or a file whose name ends in ".gguf"
  bool overwrite = false;    ///< replace the weights of a checkpoint, or the file, that lies there
  bool write_codes = false;  ///< to a GGUF file: matrices stay or become codes; else the numbers that these stand for
};

struct ConvertReport {
  std::string output;
  std::int64_t n_tensors = 0, n_bytes = 0;  ///< written
  std::vector<std::string> notes;           ///< what is not as it was, or could not be written
};

/// Reads options.model and writes a Hugging Face folder: matrices as their codes under options.quantization stand for, in
/// options.dtype, under the names that they had; vectors keep their type unless that is f32. What smoothquant scaled before
/// it rounded is scaled back, so that norms stay as they were. A head that shares the embeddings and is quantized while they
/// are not gets a tensor of its own. What lies at `output` stays as it is until all has been written.
/// A GGUF file has config, tokenizer and chat template inside; it is read again before it takes its place, and refused as
/// unsupported if a reader would find another model in it: what the format cannot say. With `write_codes` matrices become
/// the very codes that a load with options.quantization makes, in the file's own blocks; with no quantization and no type
/// asked for, what is codes stays as it is, and out of a GGUF file each tensor, whatever its type, and all that it says.
/// What is read may be a GGUF file: config.json and the tokenizer's files are made of its metadata.
/// Errors: invalid_argument when output exists and may not be replaced, or a GGUF file has no blocks for such codes;
/// resource_exhausted when the disk is full; cancelled; those of inspect_checkpoint.
Result<ConvertReport> convert_checkpoint(const EngineOptions& options, const ConvertOptions& convert,
                                         const LoadObserver& observer);

}  // namespace lathe::engine
