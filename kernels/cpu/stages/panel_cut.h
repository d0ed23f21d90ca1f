// SPDX-License-Identifier: Apache-2.0
// PanelCut: the panels of a product's weights, cut into chunks of whole groups.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lathe::kernels {

inline constexpr std::int64_t kMaxChunkPanels = 16;

struct PanelCut {
  std::int64_t n_panels;
  std::int64_t group;  ///< panels of a group, which stay in one chunk
  std::int64_t n_chunks;

  std::int64_t first_panel(std::int64_t chunk) const {
    const std::int64_t n_groups = (n_panels + group - 1) / group;
    return std::min(n_groups * chunk / n_chunks * group, n_panels);
  }
};

/// Cuts into chunks of at most max_panels panels (or one group); each is multiplied with n_row_chunks chunks of rows. Large
/// chunks read x less often, small ones leave less to wait for at the end. The number of chunks varies a little if threads
/// then get equally many.
PanelCut cut_panels(std::int64_t n_panels, std::int64_t group, std::int64_t max_panels, std::int64_t n_row_chunks,
                    int n_threads);

}  // namespace lathe::kernels
