// SPDX-License-Identifier: Apache-2.0
// Kept sweeps: what a journal on the disk says of its sweep, and how one gets another name or goes.
#pragma once

#include "app/api/sweeper.h"

namespace lathe::app {

/// What a journal holds.
struct SweepRecord {
  SweepPlan plan;
  SweepReport report;
};
/// Errors: not_found; invalid_argument when it is no journal, or one of a program with other settings or metrics.
engine::Result<SweepRecord> read_sweep(const std::string& path);

/// What a list of sweeps says of one.
struct SweepFacts {
  KeptSweep kept;
  std::string subject;                 ///< name of the checkpoint, or URL of the target
  std::vector<std::string> variables;  ///< names
  std::size_t cells_failed = 0;        ///< of those that are done
  std::size_t cells_skipped = 0;       ///< as well
  std::int64_t bytes = 0;              ///< of the journal
};
/// Errors: as read_sweep().
engine::Result<SweepFacts> facts_of_sweep(const std::string& path);
/// Facts of all that can still be read, in the order of `kept`.
std::vector<SweepFacts> facts_of_sweeps(const std::vector<KeptSweep>& kept);

/// The time of the last sample stays that of the journal. Errors: as read_sweep(); conflict while a sweep writes it;
/// resource_exhausted.
engine::Result<void> rename_sweep(const std::string& path, const std::string& name);
/// It cannot be had back. Errors: not_found; invalid_argument when it is no journal; conflict while a sweep writes it.
engine::Result<void> remove_sweep(const std::string& path);

}  // namespace lathe::app
