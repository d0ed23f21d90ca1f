// SPDX-License-Identifier: Apache-2.0
// Opens a CPU backend. So far every CPU gets the scalar reference operations.
#include "kernels/api/backend.h"

namespace lathe::kernels {

std::vector<std::string> cpu_isas() { return {"scalar"}; }

std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options) {
  if (!options.isa.empty() && options.isa != "scalar") return nullptr;
  return make_reference_backend();
}

}  // namespace lathe::kernels
