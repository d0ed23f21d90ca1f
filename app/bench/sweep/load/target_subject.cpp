// SPDX-License-Identifier: Apache-2.0
// The SweepSubject of a server that is measured from outside.
#include "app/bench/sweep/load/request_plan.h"
#include "app/bench/sweep/load/sweep_subject.h"
#include "app/bench/sweep/load/target_load.h"

namespace lathe::app {
namespace {

using engine::Result;

class TargetSubject final : public SweepSubject {
 public:
  explicit TargetSubject(const SweepPlan& plan) : plan_(plan) {}

  Result<void> prepare(const SweepCell&, const std::string&, const SubjectObserver& tell) override {
    if (session_ != nullptr) return {};
    LATHE_TRY(session_, TargetSession::open(plan_.target, {}, [&] { return tell("connecting", false); }));
    return {};
  }

  Result<RunRecord> run(const SweepCell& cell, std::uint64_t seed, const std::function<bool()>& go_on) override {
    LATHE_TRY(const auto requests, planner_.plan(cell.workload, seed));
    return run_load(*session_, cell.workload, requests, cell.sampling, seed, go_on);
  }

 private:
  const SweepPlan& plan_;
  RequestPlanner planner_;
  std::unique_ptr<TargetSession> session_;
};

}  // namespace

std::unique_ptr<SweepSubject> make_target_subject(const SweepPlan& plan) { return std::make_unique<TargetSubject>(plan); }

}  // namespace lathe::app
