// SPDX-License-Identifier: Apache-2.0
// Logits of a decoder that a test has filled itself.
#pragma once

#include <memory>
#include <vector>

#include "engine/model/decoder/decoder.h"
#include "kernels/api/backend.h"

namespace lathe::tests {

/// Computes n_tokens fixed tokens in one step on the backend that the decoder was created on. Shapes: [n_tokens *
/// vocab_size]. Requires: n_tokens <= 32, and a decoder for contexts of 32 tokens.
std::vector<float> logits_of(std::unique_ptr<kernels::Backend> backend, engine::Decoder decoder, int n_tokens);

}  // namespace lathe::tests
