// SPDX-License-Identifier: Apache-2.0
// LayerCache: what the layers of a model keep of its sequences: K and V in blocks, or states in slots.
#pragma once

#include "engine/cache/kv_storage.h"
#include "engine/cache/state_storage.h"

namespace lathe::engine {

/// Each layer has memory in one of them.
struct LayerCache {
  KvStorage kv;
  StateStorage states{};

  /// Units: bytes.
  std::int64_t n_bytes() const { return kv.n_bytes() + states.n_bytes(); }
  /// Units: bytes of pages that are resident; nullopt if the system does not report them.
  std::optional<std::int64_t> resident_bytes() const {
    const auto of_kv = kv.resident_bytes(), of_states = states.resident_bytes();
    return of_kv && of_states ? std::optional(*of_kv + *of_states) : std::nullopt;
  }
};

}  // namespace lathe::engine
