// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/encoders.h"

namespace lathe::kernels {

const Encoders* encoders_of(std::string_view isa) {
  if (isa.starts_with("avx512")) return &kAvx512Encoders;
  return isa.starts_with("avx2") ? &kAvx2Encoders : nullptr;
}

}  // namespace lathe::kernels
