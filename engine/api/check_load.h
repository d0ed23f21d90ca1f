// SPDX-License-Identifier: Apache-2.0
// check_load: tells whether a load would be refused, before the model that runs is given up for it.
#pragma once

#include <cstdint>

#include "engine/api/options.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Opens the files of options.model and of options.embedding_model, reads headers, tokenizer and chat template, and plans
/// the memory, as load_engine() does, but reads no weights and allocates no buffers. `returned_bytes`: memory that unloading
/// the present model will free. Errors: those with which load_engine() would refuse the same options at this point; what
/// only reading the weights shows is not found. Thread: any.
Result<void> check_load(const EngineOptions& options, std::int64_t returned_bytes);

}  // namespace lathe::engine
