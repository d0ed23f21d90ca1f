// SPDX-License-Identifier: Apache-2.0
#include "engine/packed/cached_weights.h"

#include <fmt/format.h>

#include "engine/api/model_shapes.h"
#include "engine/packed/packed_key.h"

namespace lathe::engine {
namespace {

bool is_cancelled(const Error& error) { return error.code == ErrorCode::cancelled; }

std::string words_of(const Error& error) {
  return error.where.empty() ? error.message : fmt::format("{} ({})", error.message, error.where);
}

}  // namespace

bool wants_packed_cache(const EngineOptions& options, const PackedCacheFolder& folder) {
  return options.cache && !folder.path.empty() && !is_shape_path(options.model) &&
         find_quantization(options.quantization) != nullptr;
}

Result<CachedWeights> load_cached_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                          const WeightPlan& plan, const EngineOptions& options,
                                          const PackedCacheFolder& folder, const WeightMaker& maker,
                                          const WeightObserver& observer) {
  CachedWeights done;
  const WeightImage image = decoder.image();
  if (image.empty()) {
    LATHE_TRY(done.warnings, maker.make(observer));
    return done;
  }
  const auto go_on = [&](std::int64_t bytes_done) { return !observer || observer(bytes_done); };
  // If another program writes to the files between this stamp and the last read, the load uses the new bytes but stores no
  // entry.
  const std::string stamp = checkpoint.stamp();
  LATHE_TRY(const ContentHash content, content_of(checkpoint, plan, backend, [&] { return go_on(0); }));
  const ContentHash key = packed_key(content, recipe_of(options, decoder.storage(), decoder.config()) + maker.recipe);
  const PackedCache cache(folder);
  const auto on_read = [&](std::int64_t n_read) {
    const double share = static_cast<double>(n_read) / static_cast<double>(decoder.weight_bytes());
    return go_on(static_cast<std::int64_t>(share * static_cast<double>(plan.n_bytes)));
  };
  Result<bool> found = cache.load(key, image, backend, on_read);
  if (found && *found) {
    done.use = PackedCacheUse::hit;
    return done;
  }
  if (!found && is_cancelled(found.error())) return tl::unexpected<Error>(std::move(found.error()));
  if (!found) {
    done.warnings.push_back("the packed weights on disk could not be used and were made again: " + words_of(found.error()));
  }
  LATHE_TRY(const std::vector<std::string> doubts, maker.make(observer));
  done.use = PackedCacheUse::missed;
  if (!doubts.empty()) {
    done.warnings.insert(done.warnings.end(), doubts.begin(), doubts.end());
    return done;
  }
  if (checkpoint.stamp() != stamp) {
    done.warnings.emplace_back("the packed weights are not kept on disk: the checkpoint changed while it was read");
    return done;
  }
  const Result<void> stored = cache.store(key, image, backend, [&](std::int64_t) { return go_on(plan.n_bytes); });
  if (!stored && is_cancelled(stored.error())) return tl::unexpected<Error>(stored.error());
  if (stored) done.use = PackedCacheUse::stored;
  else done.warnings.push_back("the packed weights could not be kept for the next load: " + words_of(stored.error()));
  return done;
}

}  // namespace lathe::engine
