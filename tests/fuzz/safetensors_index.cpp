// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json beside one right shard.
#include "engine/load/loaders.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/targets.h"

namespace lathe::fuzz {
namespace {

void feed_safetensors_index(std::span<const std::byte> bytes) {
  static constexpr std::string_view kHeader = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  static const ScratchFolder folder("index");
  [[maybe_unused]] static const bool once = [] {
    const std::uint64_t n = kHeader.size();
    std::string shard(reinterpret_cast<const char*>(&n), sizeof n);
    folder.write("model-00001-of-00001.safetensors", shard.append(kHeader) + "12345678");
    return true;
  }();
  folder.write("model.safetensors.index.json", text_of(bytes));
  if (const auto opened = engine::ModelFolder::open(folder.path())) (void)engine::open_checkpoint(*opened);
}

}  // namespace

extern constexpr Target kSafetensorsIndexTarget{.name = "safetensors_index", .feed = feed_safetensors_index};

}  // namespace lathe::fuzz
