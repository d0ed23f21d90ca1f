// SPDX-License-Identifier: Apache-2.0
// Conversion: writes a checkpoint again, with the weights that an engine would compute with.
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
  bool overwrite = false;    ///< replace the checkpoint's weights, or the file, that exist at `output`
  bool write_codes = false;  ///< for a GGUF file: matrices keep their codes or become codes; false: decoded weights
};

struct ConvertReport {
  std::string output;
  std::int64_t n_tensors = 0, n_bytes = 0;  ///< tensors and bytes written
  std::vector<std::string> notes;           ///< what differs from the source, or could not be written
};

/// Reads options.model and writes a Hugging Face folder or a GGUF file. Existing files at `output` do not change until
/// everything has been written. The source may be a GGUF file: for a folder, config.json and the tokenizer's files are then
/// made from its metadata.
///
/// Matrices are quantized by options.quantization, decoded, and written in options.dtype under their old names; vectors keep
/// their type unless that is f32. Scaling by smoothquant before rounding is undone, so that norms do not change. A head that
/// shares the embeddings' tensor and is quantized while they are not gets its own tensor.
///
/// A GGUF file contains config, tokenizer and chat template. It is read back before it is moved to `output`, and refused as
/// unsupported if a reader would find a different model, because the format cannot express something. With `write_codes`
/// matrices become the codes that a load with options.quantization makes, in the file's own blocks; if no quantization and
/// no dtype are asked for, codes are copied unchanged, and from a GGUF file every tensor of any type and all metadata.
///
/// Errors: invalid_argument when output exists and may not be replaced, or a GGUF file has no blocks for such codes;
/// resource_exhausted when the disk is full; cancelled; those of inspect_checkpoint.
Result<ConvertReport> convert_checkpoint(const EngineOptions& options, const ConvertOptions& convert,
                                         const LoadObserver& observer);

}  // namespace lathe::engine
