// SPDX-License-Identifier: Apache-2.0
// The requests of a run: lengths, texts and send times, the same for every cell whose work is the same.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "app/api/sweep_plan.h"
#include "app/bench/conversation_dataset.h"
#include "app/bench/sweep/run_record.h"
#include "app/bench/sweep/trace_file.h"

namespace lathe::app {

/// What numbers are drawn for.
enum class Purpose : std::uint8_t { times, lengths, shared, texts, prompts, blocks };

/// Numbers of their own for each purpose: another load or number of requests leaves prompts and lengths as they are.
std::mt19937_64 random_for(std::uint64_t seed, Purpose purpose, std::uint64_t index = 0);

/// Plans runs; files are read once, as long as the next run has the same. Thread: one.
class RequestPlanner {
 public:
  /// In the order of their send times, the turns of a conversation behind its first. Errors: those of the files;
  /// invalid_argument when turns are asked of a trace, or of a dataset that has none.
  engine::Result<std::vector<PlannedRequest>> plan(const SweepWorkload& workload, std::uint64_t seed);

 private:
  engine::Result<void> read_files(const SweepWorkload& workload);

  std::string dataset_path_, trace_path_;  ///< of what is kept
  std::vector<UserTurns> dataset_;
  std::vector<TracedRequest> trace_;
};

}  // namespace lathe::app
