// SPDX-License-Identifier: Apache-2.0
// THE TABLE of file formats: a new one is a new file in this folder and a line here.
#include "engine/load/loaders.h"

#include <fmt/format.h>

#include <array>

#include "engine/load/safetensors.h"

namespace lathe::engine {

extern const Loader kGgufLoader;

namespace {

constexpr std::array<const Loader*, 2> kLoaders = {
    &kGgufLoader,
    &kSafetensorsLoader,
};

/// Files that hold weights in a form that is not read, and why.
struct KnownButUnread {
  std::string_view file, reason;
};
constexpr std::array kUnread = {
    KnownButUnread{"pytorch_model.bin", "pickle files can run code and are never opened; save the model as safetensors"},
    KnownButUnread{"pytorch_model.bin.index.json",
                   "pickle files can run code and are never opened; save the model as safetensors"},
    KnownButUnread{"consolidated.safetensors", "weights under Mistral's own names; use the Hugging Face files"},
    KnownButUnread{"tf_model.h5", "TensorFlow weights; save the model as safetensors"},
    KnownButUnread{"flax_model.msgpack", "Flax weights; save the model as safetensors"},
};

}  // namespace

std::span<const Loader* const> loaders() { return kLoaders; }

Result<Checkpoint> open_checkpoint(const ModelFolder& folder) {
  for (const Loader* loader : kLoaders) {
    if (loader->recognises(folder)) return loader->open(folder);
  }
  for (const KnownButUnread& unread : kUnread) {
    if (folder.has(unread.file)) {
      return fail(ErrorCode::model_refused, fmt::format("unsupported format: {}", unread.reason), std::string(unread.file));
    }
  }
  return fail(ErrorCode::model_refused, "no weights: neither model.safetensors nor model.safetensors.index.json is there",
              folder.name());
}

}  // namespace lathe::engine
