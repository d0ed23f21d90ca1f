// SPDX-License-Identifier: Apache-2.0
// The SweepSubject of engines in this process; also measures the quality of their quantization.
#include "app/bench/sweep/load/load_generator.h"
#include "app/bench/sweep/load/quality.h"
#include "app/bench/sweep/load/request_plan.h"
#include "app/bench/sweep/load/sweep_subject.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

constexpr std::chrono::seconds kGrace{5};

class EngineSubject final : public SweepSubject {
 public:
  EngineSubject(const SweepPlan& plan, const EngineLoader& loader, const engine::PackedCacheFolder& packed)
      : plan_(plan), loader_(loader), meter_(plan.quality_dataset, packed, plan.parse_special) {}

  Result<void> prepare(const SweepCell& cell, const std::string& key, const SubjectObserver& tell) override {
    if (engine_ != nullptr && key == loaded_key_) return {};
    if (engine_ != nullptr) engine_->shut_down(kGrace);
    engine_.reset();
    quality_ = {};
    if (!plan_.quality_dataset.empty()) {
      if (!tell("evaluating", true)) return engine::fail(ErrorCode::cancelled, "left before the evaluation");
      // No engine is loaded now: its memory is free for the reference.
      LATHE_TRY(quality_, meter_.measure(cell.options, [&] { return tell("evaluating", false); }));
      meter_.make_room_for(cell.options);
    }
    if (!tell("loading", true)) return engine::fail(ErrorCode::cancelled, "left before the load");
    LATHE_TRY(engine_, loader_(cell.options, [&](const engine::LoadProgress&) { return tell("loading", false); }));
    loaded_key_ = key;
    return {};
  }

  Result<RunRecord> run(const SweepCell& cell, std::uint64_t seed, const std::function<bool()>& go_on) override {
    LATHE_TRY(const auto requests, planner_.plan(cell.workload, seed));
    LATHE_TRY(RunRecord record, run_load(*engine_, cell.workload, requests, cell.sampling, seed, go_on));
    record.weight_bytes = static_cast<double>(engine_->model().memory.weights);
    if (const auto& measured = engine_->model().measured)
      record.memory_bytes = static_cast<double>(measured->after - measured->before);
    record.load_seconds = engine_->model().load_ms / 1e3;
    record.quality = quality_;
    return record;
  }

  std::shared_ptr<const engine::EngineSnapshot> snapshot() const override {
    return engine_ == nullptr ? nullptr : engine_->snapshot();
  }

 private:
  const SweepPlan& plan_;
  const EngineLoader& loader_;
  RequestPlanner planner_;
  std::string loaded_key_;
  QualityMeter meter_;
  QualityRecord quality_;  ///< quality of the loaded model
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace

std::unique_ptr<SweepSubject> make_engine_subject(const SweepPlan& plan, const EngineLoader& loader,
                                                  const engine::PackedCacheFolder& packed) {
  return std::make_unique<EngineSubject>(plan, loader, packed);
}

}  // namespace lathe::app
