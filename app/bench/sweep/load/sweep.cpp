// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <set>

#include "app/api/sweep_estimate.h"
#include "app/bench/machine_watch.h"
#include "app/bench/sweep/load/saturation_search.h"
#include "app/bench/sweep/load/sweep_pace.h"
#include "app/bench/sweep/load/sweep_subject.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;
using Clock = std::chrono::steady_clock;

double n_without_usage(const RunRecord& record) {
  return static_cast<double>(std::count_if(record.requests.begin(), record.requests.end(),
                                           [](const SentRequest& request) { return !request.has_usage; }));
}

class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, SweepJournal& journal, const EngineLoader& loader, const SweepObserver& observer,
           const SweepPlaces& places)
      : plan_(plan),
        journal_(journal),
        observer_(observer),
        subject_(plan.target.url.empty() ? make_engine_subject(plan, loader, places.packed) : make_target_subject(plan)),
        watch_(places.root, plan.target.url.empty(), plan.target.url.empty() ? places.own_tokens : nullptr) {
    progress_.cells_total = n_cells(plan);
  }

  Result<SweepReport> run() {
    const std::vector<std::size_t> order = order_of(plan_);
    for (const std::size_t index : order) {
      if (is_done(index)) {
        ++progress_.cells_done;
      } else {
        engines_left_.insert(load_key(plan_, index));
      }
    }
    for (const std::size_t index : order) {
      if (is_done(index)) continue;
      LATHE_TRY_VOID(measure_cell(index));
      if (stopped_) break;
      ++progress_.cells_done;
    }
    return SweepReport{.cells = journal_.cells(), .stopped = stopped_, .seconds = seconds()};
  }

 private:
  /// Elapsed time without pauses.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_ - rested_).count(); }

  bool is_done(std::size_t index) const {
    const auto found = journal_.cells().find(index);
    return found != journal_.cells().end() && found->second.is_done(plan_);
  }

  /// Reports the progress; false: the cell is to be abandoned.
  bool tell(std::string_view doing, bool between_runs = false) {
    progress_.doing = doing;
    progress_.seconds = seconds();
    progress_.seconds_left = pace_.left(engines_left_.size(), progress_.cells_total - progress_.cells_done);
    look_at_engine();
    const Clock::time_point asked = Clock::now();
    const SweepDecision order = observer_ ? observer_(progress_, between_runs) : SweepDecision::go_on;
    if (between_runs) rested_ += Clock::now() - asked;
    stopped_ = stopped_ || order == SweepDecision::stop;
    skipped_ = skipped_ || order == SweepDecision::skip_cell;
    return !stopped_ && !skipped_;
  }

  /// Reads the engine's snapshot at most four times a second: the measurement needs the machine.
  void look_at_engine() {
    constexpr double kEverySeconds = 0.25;
    const double now = seconds();
    if (!runs_ || now - looked_ < kEverySeconds) return;
    looked_ = now;
    progress_.engine = subject_->snapshot();
    const std::uint64_t written = n_written(progress_.engine) - written_before_;
    if (written > 0 && now > run_begin_) progress_.tok_s = static_cast<double>(written) / (now - run_begin_);
  }

  static std::uint64_t n_written(const std::shared_ptr<const engine::EngineSnapshot>& engine) {
    return engine ? engine->counters.n_generation_tokens : 0;
  }

  void begin_run() {
    written_before_ = n_written(subject_->snapshot());
    run_begin_ = looked_ = seconds();
    runs_ = true;
  }

  Result<void> measure_cell(std::size_t index) {
    progress_.cell = index;
    progress_.repeat = 0;
    skipped_ = false;
    const Result<void> measured = try_cell(index);
    if (stopped_) return {};
    if (skipped_) return journal_.add_failure(index, std::string(kSkipped));
    if (measured) return {};
    if (measured.error().where == kJournal) return measured;
    const engine::Error& error = measured.error();
    const bool says_where = error.message.starts_with(error.where);  // "quantization must be one of..."
    return journal_.add_failure(index, says_where ? error.message : fmt::format("{}: {}", error.where, error.message));
  }

  /// Prepares the subject. A preparation that fails is not added to the pace: it takes less time than others.
  Result<void> prepare(const SweepCell& cell) {
    const std::string key = load_key(plan_, cell.index);
    const double begin = seconds();
    const auto observer = [this](std::string_view doing, bool may_wait) {
      progress_.tok_s = 0;
      progress_.engine = nullptr;
      return tell(doing, may_wait);
    };
    const Result<void> prepared = subject_->prepare(cell, key, observer);
    const bool is_new = engines_left_.erase(key) > 0;
    if (prepared && is_new) pace_.add_engine(seconds() - begin);
    return prepared;
  }

  Result<void> try_cell(std::size_t index) {
    LATHE_TRY(const SweepCell cell, cell_of(plan_, index));
    LATHE_TRY_VOID(prepare(cell));
    const double begin = seconds();
    LATHE_TRY_VOID(run_cell(cell));
    pace_.add_cell(seconds() - begin);
    return {};
  }

  Result<void> run_cell(const SweepCell& cell) {
    const std::size_t index = cell.index;
    if (plan_.warm_up) {
      progress_.repeat = 0;
      SweepCell warm = cell;
      if (cell.workload.pattern() == LoadPattern::saturation) warm.workload = synchronous_trial(cell.workload);
      LATHE_TRY([[maybe_unused]] const RunRecord record, run_once(warm, 0, "warming up"));
    }
    while (!is_done(index)) {
      const auto found = journal_.cells().find(index);
      const std::size_t repeat = 1 + (found == journal_.cells().end() ? 0 : found->second.samples.size());
      progress_.repeat = static_cast<std::int64_t>(repeat);
      LATHE_TRY(RunRecord record, run_counted(cell, repeat));
      if (repeat > 1) {  // load and evaluation happen once per engine and are no sample of each run
        record.load_seconds = kUnseen;
        record.quality = {};
      }
      const Result<void> kept =
          journal_.add_sample(index, measure(record, plan_.goal), warnings_, measure_latencies(record), record.trials);
      if (!kept) return engine::fail(kept.error().code, kept.error().message, kJournal);
    }
    return {};
  }

  /// Runs one sample; for load saturation, the best of all trials of its search.
  Result<RunRecord> run_counted(const SweepCell& cell, std::size_t repeat) {
    warnings_.clear();
    const auto watched = [&](const SweepCell& one, const std::string& doing) -> Result<RunRecord> {
      LATHE_TRY(RunRecord record, run_once(one, repeat, doing));
      keep_worst(warnings_, watch_.end());
      if (const auto n = n_without_usage(record); n > 0) keep_worst(warnings_, {{{"without_usage", n}}});
      return record;
    };
    if (cell.workload.pattern() != LoadPattern::saturation) return watched(cell, "measuring");
    return search_saturation(cell.workload, plan_.goal, [&](const SweepWorkload& trial, const std::string& words) {
      SweepCell one = cell;
      one.workload = trial;
      return watched(one, words);
    });
  }

  Result<RunRecord> run_once(const SweepCell& cell, std::size_t repeat, std::string_view doing) {
    if (!tell(doing, true)) return engine::fail(ErrorCode::cancelled, "left before the run");
    // Every cell gets the same requests: answers can be compared, and differences come from the settings alone.
    const std::uint64_t seed = plan_.seed * 1'000'003 + repeat;
    watch_.begin();
    begin_run();
    Result<RunRecord> record = subject_->run(cell, seed, [&] { return tell(doing); });
    runs_ = false;
    return record;
  }

  static constexpr const char* kJournal = "journal";

  const SweepPlan& plan_;
  SweepJournal& journal_;
  const SweepObserver& observer_;
  const std::unique_ptr<SweepSubject> subject_;
  const Clock::time_point start_ = Clock::now();
  SweepProgress progress_;
  Clock::duration rested_{};
  std::set<std::string> engines_left_;  ///< keys of the engines that are still to be prepared
  SweepPace pace_;
  MachineWatch watch_;
  std::vector<MachineWarning> warnings_;  ///< warnings of the current run
  bool stopped_ = false, skipped_ = false;
  bool runs_ = false;  ///< a run is active
  double run_begin_ = 0, looked_ = 0;
  std::uint64_t written_before_ = 0;  ///< tokens that the engine had generated when the run began
};

}  // namespace

std::vector<std::size_t> order_of(const SweepPlan& plan) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> group_of;
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    const auto [place, is_new] = group_of.emplace(load_key(plan, index), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(index);
  }
  std::mt19937_64 random(plan.seed);
  if (plan.shuffle) std::shuffle(groups.begin(), groups.end(), random);
  std::vector<std::size_t> order;
  for (std::vector<std::size_t>& group : groups) {
    if (plan.shuffle) std::shuffle(group.begin(), group.end(), random);
    order.insert(order.end(), group.begin(), group.end());
  }
  return order;
}

Result<SweepReport> run_sweep(const SweepPlan& plan, SweepJournal& journal, const EngineLoader& loader,
                              const SweepObserver& observer, const SweepPlaces& places) {
  LATHE_TRY_VOID(check(plan));
  return SweepRun(plan, journal, loader, observer, places).run();
}

}  // namespace lathe::app
