// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/packed_image.h"
#include "kernels/cpu/panel_matrix.h"

namespace lathe::kernels {

std::span<std::byte> image_of(PackedMatrix& matrix) {
  auto* const panels = dynamic_cast<PanelMatrix*>(&matrix);
  return panels == nullptr ? std::span<std::byte>() : panels->bytes();
}

std::string_view image_layout() { return "panels of 16, 1"; }

}  // namespace lathe::kernels
