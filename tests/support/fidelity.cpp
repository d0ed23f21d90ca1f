// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fidelity.h"

#include <fmt/format.h>

#include <QTest>
#include <algorithm>
#include <cmath>
#include <latch>
#include <semaphore>
#include <thread>

#include "kernels/api/backend.h"
#include "kernels/api/check.h"
#include "tests/support/engine_harness.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {
namespace {

constexpr double kTolerance = 1e-3;
constexpr int kBlockSize = 8;
constexpr int kLongest = 200;                        // tokens of a request, with room
constexpr int kTightBlocks = kLongest / kBlockSize;  // one such request and no more
constexpr int kAmpleBlocks = 16 * kTightBlocks;

/// The first difference between two lists of log probabilities that is too large.
void compare_logprobs(const std::string& who, const std::vector<double>& expected, const std::vector<double>& got,
                      FidelityReport& report) {
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const double error = std::abs(expected[i] - got[i]);
    report.largest_error = std::max(report.largest_error, error);
    if (error <= kTolerance) continue;
    report.mismatches += fmt::format("{}: log probability {} is {}, expected {}\n", who, i, got[i], expected[i]);
    return;
  }
  if (got.size() < expected.size()) report.mismatches += fmt::format("{}: log probabilities are missing\n", who);
}

void compare_ids(const std::string& who, const FidelityRun& run, const std::vector<std::int32_t>& got,
                 FidelityReport& report) {
  if (got == run.ids) return;
  const auto at = std::mismatch(got.begin(), got.end(), run.ids.begin(), run.ids.end()).first - got.begin();
  report.mismatches += fmt::format("{}: differs at token {} of {} (got {} tokens)\n", who, at, run.ids.size(), got.size());
}

void compare_answer(const std::string& who, const FidelityRun& run, const engine::TokenEvent& answer,
                    FidelityReport& report) {
  if (answer.error) report.mismatches += fmt::format("{}: {}\n", who, answer.error->message);
  compare_ids(who, run, answer.token_ids, report);
  std::vector<double> logprobs, prompt_logprobs;
  for (const auto& chosen : answer.chosen_logprobs) logprobs.push_back(chosen.logprob);
  for (std::size_t i = 1; i < answer.prompt_logprobs.size(); ++i) {
    prompt_logprobs.push_back(answer.prompt_logprobs[i].front().logprob);
  }
  compare_logprobs(who, run.logprobs, logprobs, report);
  compare_logprobs(who + " (prompt)", run.prompt_logprobs, prompt_logprobs, report);
  report.n_cached_tokens += answer.usage.n_cached_tokens;
  report.n_preemptions += answer.timings.n_preemptions;
}

/// Makes the engine stand still between two tokens of a request of its own, so that what is submitted meanwhile starts
/// together, however busy the machine is.
class EngineHold {
 public:
  explicit EngineHold(engine::Engine& engine) {
    while (!hold(engine)) {
    }
  }
  ~EngineHold() { release(); }

  void release() {
    if (handle_ == nullptr) return;
    handle_->cancel();
    go_.count_down();
    collect(*handle_);
    handle_->on_wake({});
    handle_.reset();
  }

 private:
  /// False: the request ended before the engine could be stopped in it.
  bool hold(engine::Engine& engine) {
    engine::GenerateRequest request = greedy_request({5}, 0);
    request.sampling.ignore_eos = true;
    request.cache_salt = "hold";
    handle_ = *engine.submit(std::move(request));
    handle_->on_wake([this, caller = std::this_thread::get_id()] {
      if (std::this_thread::get_id() == caller) return;
      stands_.release();
      go_.wait();
    });
    engine::TokenEvent event;
    while (!stands_.try_acquire_for(std::chrono::milliseconds(5))) {
      if (handle_->poll(event) && event.finished) return false;
    }
    return true;
  }

  engine::RequestHandlePtr handle_;
  std::counting_semaphore<> stands_{0};
  std::latch go_{1};
};

}  // namespace

std::vector<FidelityRun> read_reference_greedy(const std::string& path) {
  std::vector<FidelityRun> runs;
  const engine::Json reference = read_json_file(path);
  for (const engine::Json& run : reference["runs"]) {
    FidelityRun& added = runs.emplace_back();
    added.ids = run["generated_ids"].get<std::vector<std::int32_t>>();
    added.request =
        greedy_request(run["prompt_ids"].get<std::vector<std::int32_t>>(), static_cast<std::int64_t>(added.ids.size()));
    added.request.sampling.logprobs = 0;
    for (const engine::Json& best : run["top5_per_step"]) added.logprobs.push_back(best[0][1].get<double>());
    for (const engine::Json& logprob : run["prompt_logprobs"]) {
      if (!logprob.is_null()) added.prompt_logprobs.push_back(logprob.get<double>());
    }
  }
  return runs;
}

void add_fidelity_matrix() {
  QTest::addColumn<QString>("isa");
  QTest::addColumn<int>("n_requests");
  QTest::addColumn<int>("n_chunk");
  QTest::addColumn<bool>("tight");
  // The corners show errors of memory; with all cells a sanitizer takes ten minutes.
  const bool only_corners = !std::string(LATHE_SANITIZERS).empty();
  for (const std::string& isa : kernels::cpu_isas()) {
    for (const int n_requests : only_corners ? std::vector{1, 16} : std::vector{1, 2, 7, 16}) {
      for (const int n_chunk : only_corners ? std::vector{8, 512} : std::vector{8, 16, 512}) {
        for (const bool tight : {false, true}) {
          QTest::addRow("%s, %d at once, chunks of %d%s", isa.c_str(), n_requests, n_chunk, tight ? ", tight" : "")
              << QString::fromStdString(isa) << n_requests << n_chunk << tight;
        }
      }
    }
  }
}

FidelityCell fetch_fidelity_cell() {
  QFETCH(QString, isa);
  QFETCH(int, n_requests);
  QFETCH(int, n_chunk);
  QFETCH(bool, tight);
  return {.isa = isa.toStdString(), .n_requests = n_requests, .n_chunk = n_chunk, .tight = tight};
}

std::unique_ptr<engine::Engine> open_for(const std::string& model, const FidelityCell& cell) {
  engine::EngineOptions options;
  options.model = model;
  options.dtype = "float32";
  options.isa = cell.isa;
  options.max_model_len = kLongest;
  options.block_size = kBlockSize;
  options.policy = cell.policy;
  options.num_gpu_blocks_override = cell.tight ? kTightBlocks : kAmpleBlocks;
  options.max_num_batched_tokens = cell.n_chunk;
  options.max_num_seqs = std::min(16, cell.n_chunk);
  options.threads = 1 + cell.n_requests % 2;  // threads must not matter either
  auto engine = engine::load_engine(options);
  if (!engine) std::fprintf(stderr, "%s: %s\n", model.c_str(), engine.error().message.c_str());
  LATHE_CHECK(engine.has_value());
  return std::move(*engine);
}

FidelityReport compare_runs(engine::Engine& engine, const std::vector<FidelityRun>& runs, const FidelityCell& cell) {
  FidelityReport report;
  EngineHold hold(engine);
  std::vector<engine::RequestHandlePtr> handles;
  for (int i = 0; i < cell.n_requests; ++i) {
    engine::GenerateRequest request = runs[static_cast<std::size_t>(i) % runs.size()].request;
    if (cell.tight) request.cache_salt = std::to_string(i);
    auto handle = engine.submit(std::move(request));
    if (!handle) {
      report.mismatches += fmt::format("request {}: {}\n", i, handle.error().message);
      break;
    }
    handles.push_back(*handle);
  }
  hold.release();
  for (std::size_t number = 0; number < handles.size(); ++number) {
    const Answer answer = collect(*handles[number]);
    if (answer.timed_out) report.mismatches += fmt::format("request {}: nothing came for a minute\n", number);
    FidelityRun expected = runs[number % runs.size()];
    if (!expected.request.sampling.prompt_logprobs) expected.prompt_logprobs.clear();
    compare_answer(fmt::format("request {}", number), expected, answer.all, report);
  }
  return report;
}

}  // namespace lathe::tests
