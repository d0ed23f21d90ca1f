// SPDX-License-Identifier: Apache-2.0
// Codebook of IQ4_NL and IQ4_XS of GGUF: sixteen integers, closer together where weights are dense.
#pragma once

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// Source: ggml, ggml-common.h: kvalues_iq4nl. Kernels multiply these integers as they are: nothing is rounded.
struct Iq4Book {
  static constexpr float kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  static constexpr int kSteps = 1;
};

}  // namespace
}  // namespace lathe::kernels
