// SPDX-License-Identifier: Apache-2.0
// Pinning: chooses the cores of a pool's workers, apart from those of other pools of this process.
#pragma once

#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace lathe::kernels {

/// Logical processors that this process may run on, ascending.
std::vector<int> allowed_cpus();
/// One of the allowed_cpus() for each physical core.
std::vector<int> physical_cores();

/// Logical processors to which single threads of this process are pinned, one element for each such thread. The system keeps
/// the list, so it has the workers of every pool, in the program and in modules. Empty where the process may run on one
/// processor only: no thread could run elsewhere. nullopt: the system does not provide the list.
std::optional<std::vector<int>> pinned_cpus();

/// Cores for the n_threads - 1 workers of a new pool, none of which is in `pinned`; one more core is left to the caller.
/// Empty: the workers are not pinned, because there are too few such cores, or too few cores at all.
std::vector<int> worker_cores(int n_threads, std::span<const int> cores, std::span<const int> pinned);

/// Pins each worker to a core of its own, or none if worker_cores() has none. Two pools that pin at the same time and choose
/// the same core see it afterwards; then at least one of them unpins its workers.
void pin_workers(std::span<std::jthread> workers);

}  // namespace lathe::kernels
