// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/panel_cut.h"

#include "kernels/cpu/stages/div_up.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kChunksOfThread = 8;

}  // namespace

PanelCut cut_panels(std::int64_t n_panels, std::int64_t group, std::int64_t max_panels, std::int64_t n_row_chunks,
                    int n_threads) {
  const std::int64_t n_groups = div_up(n_panels, group);
  const std::int64_t least = div_up(kMaxPanels, group);
  const std::int64_t most = std::max(max_panels / group, least);
  const std::int64_t share = n_groups * n_row_chunks / (kChunksOfThread * n_threads);
  const std::int64_t wanted = div_up(n_groups, std::clamp(share, least, most));
  const std::int64_t fewest = div_up(n_groups, most);
  const std::int64_t greatest = std::max(fewest, n_groups / least);
  const auto is_even = [&](std::int64_t n) { return n >= fewest && n <= greatest && n * n_row_chunks % n_threads == 0; };
  for (std::int64_t more = 0; more < n_threads; ++more) {
    if (is_even(wanted - more)) return {n_panels, group, wanted - more};
    if (is_even(wanted + more)) return {n_panels, group, wanted + more};
  }
  return {n_panels, group, wanted};
}

}  // namespace lathe::kernels
