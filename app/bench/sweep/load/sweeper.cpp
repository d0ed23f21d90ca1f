// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweeper.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "app/bench/sweep/load/sweep.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::ErrorCode;
using engine::Result;

constexpr std::size_t kMaxKept = 50;

std::size_t n_done(const SweepPlan& plan, const std::map<std::size_t, CellResult>& cells) {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [&](const auto& cell) { return cell.second.is_done(plan); }));
}

class OwnThreadSweeper final : public Sweeper {
 public:
  OwnThreadSweeper(EngineLoader loader, std::string folder, SweepPlaces places)
      : loader_(std::move(loader)), folder_(std::move(folder)), places_(std::move(places)) {}
  ~OwnThreadSweeper() override {
    stop();
    join();
  }

  SweepStatus status() const override {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  Result<void> start(SweepPlan plan) override {
    const std::lock_guard control(control_);
    LATHE_TRY_VOID(check(plan));
    LATHE_TRY_VOID(check_values(plan));
    LATHE_TRY_VOID(check_files(plan));
    LATHE_TRY_VOID(refuse_while_running());
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      return engine::fail(ErrorCode::resource_exhausted,
                          fmt::format("the folder of sweeps cannot be created: {}", error.message()), folder_);
    }
    const std::string path = new_journal();
    LATHE_TRY(SweepJournal journal, SweepJournal::open(path, plan, false));
    run(std::move(plan), path, std::move(journal));
    return {};
  }

  Result<void> open(const std::string& path) override {
    const std::lock_guard control(control_);
    LATHE_TRY_VOID(refuse_while_running());
    LATHE_TRY(SweepPlan plan, SweepJournal::plan_in(path));
    LATHE_TRY_VOID(check(plan));
    LATHE_TRY(const auto cells, SweepJournal::cells_in(path, plan));
    const std::lock_guard lock(mutex_);
    show(std::move(plan), path, cells);
    const bool is_whole = status_.progress.cells_done == status_.progress.cells_total;
    status_.state = is_whole ? SweepState::done : SweepState::stopped;
    return {};
  }

  Result<void> resume(const std::string& api_key) override {
    const std::lock_guard control(control_);
    LATHE_TRY_VOID(refuse_while_running());
    join();  // so that the last thread closes its journal
    const SweepStatus shown = status();
    if (shown.plan == nullptr) return engine::fail(ErrorCode::invalid_argument, "there is no sweep to continue");
    SweepPlan plan = *shown.plan;
    if (!api_key.empty()) plan.target.api_key = api_key;
    LATHE_TRY(SweepJournal journal, SweepJournal::open(shown.journal, plan, true));
    run(std::move(plan), shown.journal, std::move(journal));
    return {};
  }

  void pause() override {
    change([this] {
      if (status_.state == SweepState::running) status_.state = SweepState::pausing;
    });
  }
  void go_on() override {
    change([this] {
      if (status_.state == SweepState::pausing || status_.state == SweepState::paused) status_.state = SweepState::running;
    });
  }
  void skip_cell() override {
    change([this] {
      if (!status_.runs() || order_ == SweepDecision::stop) return;
      order_ = SweepDecision::skip_cell;
      skip_cell_ = status_.progress.cell;
      if (status_.state != SweepState::running) status_.state = SweepState::running;
    });
  }
  void stop() override {
    change([this] {
      if (status_.runs()) order_ = SweepDecision::stop;
    });
  }
  void clear() override {
    change([this] {
      if (status_.runs()) return;
      const std::uint64_t revision = status_.revision;
      status_ = {};
      status_.revision = revision;
    });
  }

  std::vector<KeptSweep> kept() const override {
    std::vector<KeptSweep> all;
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
      const fs::path& path = entry->path();
      if (path.extension() != ".jsonl") continue;
      std::error_code no_time;
      const auto changed = fs::last_write_time(path, no_time);
      if (no_time) continue;
      const auto when = std::chrono::file_clock::to_sys(changed).time_since_epoch();
      KeptSweep& sweep = all.emplace_back();
      sweep.path = path.string();
      sweep.unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(when).count();
    }
    std::sort(all.begin(), all.end(), [](const KeptSweep& a, const KeptSweep& b) { return a.unix_ms > b.unix_ms; });
    if (all.size() > kMaxKept) all.resize(kMaxKept);
    std::erase_if(all, [](KeptSweep& sweep) { return !describe(sweep); });
    return all;
  }

 private:
  /// False: the file is no journal of a sweep, or its metrics are those of another version of the program.
  static bool describe(KeptSweep& sweep) {
    const Result<SweepPlan> plan = SweepJournal::plan_in(sweep.path);
    if (!plan || !check(*plan)) return false;
    const Result<std::map<std::size_t, CellResult>> cells = SweepJournal::cells_in(sweep.path, *plan);
    if (!cells) return false;
    sweep.name = plan->name;
    sweep.cells_total = n_cells(*plan);
    sweep.cells_done = n_done(*plan, *cells);
    return true;
  }

  Result<void> refuse_while_running() const {
    if (!status().runs()) return {};
    return engine::fail(ErrorCode::conflict, "a sweep is running: stop it first");
  }

  /// Returns a new path, "2026-03-01_141502.jsonl", with a number appended if that file exists.
  std::string new_journal() const {
    const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    const std::string stem = fmt::format("{:%Y-%m-%d_%H%M%S}", fmt::localtime(std::chrono::system_clock::to_time_t(now)));
    fs::path path = fs::path(folder_) / (stem + ".jsonl");
    for (int n = 2; fs::exists(path); ++n) path = fs::path(folder_) / fmt::format("{}_{}.jsonl", stem, n);
    return path.string();
  }

  /// Requires: mutex_ is locked.
  void show(SweepPlan plan, const std::string& path, const std::map<std::size_t, CellResult>& cells) {
    status_.progress = {};
    status_.progress.cells_done = n_done(plan, cells);
    status_.progress.cells_total = n_cells(plan);
    status_.plan = std::make_shared<SweepPlan>(std::move(plan));
    status_.report = std::make_shared<SweepReport>(SweepReport{.cells = cells, .stopped = false, .seconds = 0});
    status_.journal = path;
    status_.error.clear();
    ++status_.revision;
  }

  void run(SweepPlan plan, const std::string& path, SweepJournal journal) {
    join();
    const std::lock_guard lock(mutex_);
    skip_cell_ = 0;
    order_ = SweepDecision::go_on;
    show(std::move(plan), path, journal.cells());
    status_.state = SweepState::running;
    thread_ = std::jthread([this, plan = status_.plan, journal = std::move(journal)]() mutable { work(*plan, journal); });
  }

  void work(const SweepPlan& plan, SweepJournal& journal) {
    const SweepObserver observer = [&](const SweepProgress& now, bool between_runs) {
      return look(now, between_runs, journal);
    };
    const Result<SweepReport> report = run_sweep(plan, journal, loader_, observer, places_);
    const std::lock_guard lock(mutex_);
    status_.state = !report ? SweepState::failed : report->stopped ? SweepState::stopped : SweepState::done;
    if (!report) status_.error = report.error().message;
    status_.report = std::make_shared<SweepReport>(SweepReport{
        .cells = journal.cells(), .stopped = status_.state != SweepState::done, .seconds = status_.progress.seconds});
    status_.progress.cells_done = n_done(plan, journal.cells());
    ++status_.revision;
  }

  SweepDecision look(const SweepProgress& now, bool between_runs, const SweepJournal& journal) {
    std::unique_lock lock(mutex_);
    const bool is_other = now.cell != status_.progress.cell || now.repeat != status_.progress.repeat ||
                          now.doing != status_.progress.doing || now.cells_done != status_.progress.cells_done;
    // The cell that was to be skipped has ended meanwhile.
    if (order_ == SweepDecision::skip_cell && now.cell != skip_cell_) order_ = SweepDecision::go_on;
    status_.progress = now;
    if (is_other || between_runs) {
      status_.report =
          std::make_shared<SweepReport>(SweepReport{.cells = journal.cells(), .stopped = false, .seconds = now.seconds});
      ++status_.revision;
    }
    if (between_runs && status_.state == SweepState::pausing) {
      status_.state = SweepState::paused;
      ++status_.revision;
      changed_.wait(lock, [this] { return status_.state != SweepState::paused || order_ != SweepDecision::go_on; });
      if (status_.state == SweepState::paused) status_.state = SweepState::running;
    }
    return std::exchange(order_, SweepDecision::go_on);
  }

  template <class Change>
  void change(const Change& what) {
    {
      const std::lock_guard lock(mutex_);
      what();
      ++status_.revision;
    }
    changed_.notify_all();
  }

  void join() {
    if (thread_.joinable()) thread_.join();
  }

  const EngineLoader loader_;
  const std::string folder_;
  const SweepPlaces places_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SweepStatus status_;
  SweepDecision order_ = SweepDecision::go_on;
  std::size_t skip_cell_ = 0;  ///< cell for which order_ was given
  std::mutex control_;         ///< held by start, open and resume for their whole duration, so that their checks stay true
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<Sweeper> make_sweeper(EngineLoader loader, std::string folder, SweepPlaces places) {
  return std::make_unique<OwnThreadSweeper>(std::move(loader), std::move(folder), std::move(places));
}

}  // namespace lathe::app
