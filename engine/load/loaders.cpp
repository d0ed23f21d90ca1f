// SPDX-License-Identifier: Apache-2.0
#include "engine/load/loaders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/table.h"
#include "engine/load/files/downloads.h"

namespace lathe::engine {

// THE TABLE of file formats: one file in this folder and one line here for each.
LATHE_TABLE(Loader, kLoaders,
  kGgufLoader,
  kSafetensorsLoader,
);

namespace {

constexpr std::string_view kPickle =
    "pickle files can run code and are never opened; save the model as safetensors (in transformers: "
    "model.save_pretrained(folder))";
constexpr std::string_view kAdapter =
    "this is an adapter (LoRA), not a model; merge it into its base model (in peft: model.merge_and_unload()), and save and "
    "open that";

constexpr std::string_view kArchive = "the folder has no weights, only an archive; unpack it first";

/// A weight file format that is not read, and the advice for the user. Matches the beginning and the end of a file name.
struct KnownButUnread {
  std::string_view begin, end, reason;
};
// THE TABLE of formats that are not read; a file that more likely is the model comes first.
constexpr std::array kUnread = {
    KnownButUnread{"adapter_model", ".safetensors", kAdapter},
    KnownButUnread{"adapter_model", ".bin", kAdapter},
    KnownButUnread{"adapter_config", ".json", kAdapter},
    KnownButUnread{"pytorch_model", ".bin", kPickle},
    KnownButUnread{"pytorch_model", ".bin.index.json", kPickle},
    KnownButUnread{"consolidated", ".safetensors",
                   "weights under Mistral's own names; also download the files for transformers (model.safetensors, or "
                   "model-00001-of-... with its index)"},
    KnownButUnread{"consolidated", ".pth", kPickle},
    KnownButUnread{"tf_model", ".h5", "TensorFlow weights; save the model as safetensors"},
    KnownButUnread{"flax_model", ".msgpack", "Flax weights; save the model as safetensors"},
    KnownButUnread{"rust_model", ".ot", "weights for rust-bert; download the model's safetensors"},
    KnownButUnread{"weights", ".npz", "NumPy weights for MLX; convert the model to safetensors"},
    KnownButUnread{"", ".onnx", "ONNX; download the model's safetensors"},
    KnownButUnread{"", ".pth", kPickle},
    KnownButUnread{"", ".pt", kPickle},
    KnownButUnread{"", ".ckpt", kPickle},
    KnownButUnread{"ggml-", ".bin", "a GGML file, from before GGUF; convert the model again with a current converter"},
    KnownButUnread{"", ".gz", kArchive},
    KnownButUnread{"", ".zip", kArchive},
    KnownButUnread{"", ".xz", kArchive},
    KnownButUnread{"", ".zst", kArchive},
    KnownButUnread{"", ".bz2", kArchive},
    KnownButUnread{"", ".tar", kArchive},
    KnownButUnread{"", ".tgz", kArchive},
    KnownButUnread{"", ".7z", kArchive},
};
/// Prefixes of files that a trainer saves next to its weights.
constexpr std::array<std::string_view, 4> kOfTraining = {"optimizer", "scheduler", "rng_state", "training_args"};

tl::unexpected<Error> refuse_unread(const ModelFolder& folder) {
  std::vector<std::string> files = folder.files();
  std::erase_if(files, [](const std::string& name) {
    return std::any_of(kOfTraining.begin(), kOfTraining.end(),
                       [&](std::string_view begin) { return name.starts_with(begin); });
  });
  for (const KnownButUnread& unread : kUnread) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const std::string& name) {
      return name.starts_with(unread.begin) && name.ends_with(unread.end);
    });
    if (file == files.end()) continue;
    return fail(ErrorCode::model_refused,
                fmt::format("unsupported format: {}{}", unread.reason, downloads_text(folder.path())), *file);
  }
  // A folder or a pipe may have this name: map() reports that.
  constexpr std::string_view kWeightsFile = "model.safetensors";
  if (folder.has(kWeightsFile)) {
    if (auto file = folder.map(kWeightsFile); !file) return tl::unexpected(std::move(file.error()));
  }
  return fail(ErrorCode::model_refused,
              "no weights: the folder has neither model.safetensors nor model.safetensors.index.json" +
                  downloads_text(folder.path()),
              folder.name());
}

}  // namespace

std::span<const Loader* const> loaders() { return kLoaders; }

Result<Checkpoint> open_checkpoint(const ModelFolder& folder) {
  for (const Loader* loader : kLoaders) {
    if (loader->recognises(folder)) return loader->open(folder);
  }
  return refuse_unread(folder);
}

}  // namespace lathe::engine
