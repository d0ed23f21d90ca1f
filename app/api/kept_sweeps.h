// SPDX-License-Identifier: Apache-2.0
// Kept sweeps: reading, renaming and removing the journals of sweeps on disk.
#pragma once

#include "app/api/sweeper.h"

namespace lathe::app {

/// Contents of a journal.
struct SweepRecord {
  SweepPlan plan;
  SweepReport report;
};
/// Errors: not_found; invalid_argument when the file is not a journal, or was written by a program with other settings or
/// metrics.
engine::Result<SweepRecord> read_sweep(const std::string& path);

/// Entry of a list of sweeps.
struct SweepFacts {
  KeptSweep kept;
  std::string subject;                 ///< name of the checkpoint, or URL of the target
  std::vector<std::string> variables;  ///< names of the variables
  std::size_t cells_failed = 0;        ///< failed cells, counted in kept.cells_done
  std::size_t cells_skipped = 0;       ///< skipped cells, counted in kept.cells_done
  std::int64_t bytes = 0;              ///< size of the journal
};
/// Errors: as read_sweep().
engine::Result<SweepFacts> facts_of_sweep(const std::string& path);
/// Facts of all sweeps that can still be read, in the order of `kept`.
std::vector<SweepFacts> facts_of_sweeps(const std::vector<KeptSweep>& kept);

/// Changes the sweep's name; the journal keeps the time of its last sample. Errors: as read_sweep(); conflict while a sweep
/// writes the journal; resource_exhausted.
engine::Result<void> rename_sweep(const std::string& path, const std::string& name);
/// Deletes the journal permanently. Errors: not_found; invalid_argument when the file is not a journal; conflict while a
/// sweep writes it.
engine::Result<void> remove_sweep(const std::string& path);

}  // namespace lathe::app
