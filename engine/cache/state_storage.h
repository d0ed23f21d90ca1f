// SPDX-License-Identifier: Apache-2.0
// StateStorage: the memory of the states of all recurrent layers. The slot pool manages which sequence has which slot.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/api/result.h"
#include "kernels/api/recurrent.h"

namespace lathe::engine {

/// The recurrent layers, and how many slots each has.
struct StateLayers {
  std::vector<std::optional<kernels::StateShape>> shapes{};  ///< of each layer of the model; none: it keeps no state
  int n_slots = 0;
};

/// Owns: one buffer for each recurrent layer. Memory of a slot that no sequence ever had is not resident.
/// Thread: the engine's.
class StateStorage {
 public:
  /// Errors: resource_exhausted when a layer does not fit.
  static Result<StateStorage> allocate(kernels::Backend& backend, const StateLayers& layout);
  /// Units: bytes that allocate() takes for that layout. Requires: a backend with recurrent_operations(), if any layer has
  /// states.
  static std::int64_t n_bytes(const kernels::Backend& backend, const StateLayers& layout);

  int n_slots() const { return layout_.n_slots; }
  /// Units: bytes.
  std::int64_t n_bytes() const;
  /// Units: bytes of pages that are resident; nullopt if the system does not report them.
  std::optional<std::int64_t> resident_bytes() const;
  /// Requires: a layer with states, else the result has no memory.
  kernels::StateLayer layer(std::int64_t i) const;

 private:
  StateLayers layout_;
  std::vector<kernels::Buffer> layers_;  ///< empty for layers without states
};

}  // namespace lathe::engine
