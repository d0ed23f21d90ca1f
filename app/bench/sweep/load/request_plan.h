// SPDX-License-Identifier: Apache-2.0
// Plans the requests of a run: lengths, texts and send times. Cells with the same workload get the same requests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "app/api/sweep_plan.h"
#include "app/bench/conversation_dataset.h"
#include "app/bench/sweep/plan/trace_file.h"
#include "app/bench/sweep/result/run_record.h"

namespace lathe::app {

/// Purposes of random numbers; each has its own random sequence.
enum class Purpose : std::uint8_t { times, lengths, shared, texts, prompts, blocks };

/// Returns the generator of one purpose: changing the load or the number of requests leaves prompts and lengths as they are.
std::mt19937_64 random_for(std::uint64_t seed, Purpose purpose, std::uint64_t index = 0);

/// Plans runs. A dataset or trace file is read once and kept until a run names another. Thread: one.
class RequestPlanner {
 public:
  /// Returns requests in the order of their send times; the turns of a conversation follow its first. Errors: those of the
  /// files; invalid_argument if a trace, or a dataset without conversations, is to have several turns.
  engine::Result<std::vector<PlannedRequest>> plan(const SweepWorkload& workload, std::uint64_t seed);

 private:
  engine::Result<void> read_files(const SweepWorkload& workload);

  std::string dataset_path_, trace_path_;  ///< files that dataset_ and trace_ were read from
  std::vector<UserTurns> dataset_;
  std::vector<TracedRequest> trace_;
};

}  // namespace lathe::app
