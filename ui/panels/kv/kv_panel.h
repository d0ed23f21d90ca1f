// SPDX-License-Identifier: GPL-3.0-or-later
// KvPanel: the map of all blocks of the KV cache, its counts, and its waste; the states of recurrent layers below it.
#pragma once

#include "ui/panels/panel.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/kv_map.h"
#include "ui/widgets/state_map.h"

namespace lathe::ui {

/// Waste of the KV cache: share of slots that hold no token. `paged`: of the slots in used blocks. `contiguous`: if each
/// request had one contiguous region of max_model_len. `reserved`: share of the slots of used blocks that is in blocks
/// without any content, which their request may need later.
struct KvWaste {
  double paged = 0, contiguous = 0, reserved = 0;
  int n_reserved = 0;  ///< number of reserved, empty blocks
};
KvWaste waste_of(const engine::EngineSnapshot& snapshot, std::int64_t max_model_len);

class KvLegend;

class KvPanel : public Panel {
  Q_OBJECT
 public:
  KvPanel(const PanelContext& context, QWidget* parent);
  QWidget* title_tools() override;
  void came_into_view() override { show_state(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void follow_state();
  void show_state();
  void show_counts(const engine::EngineSnapshot& snapshot, const KvWaste& waste);
  void show_waste(const engine::EngineSnapshot& snapshot, const KvWaste& waste);
  void show_parts(bool loaded);
  void highlight(std::uint64_t request);

  PanelContext context_;
  QLabel* counts_;
  QLabel* waste_;
  QLabel* empty_;
  KvMap* map_;
  StateMap* states_;
  KvLegend* legend_;
  bool frozen_ = false;
};

}  // namespace lathe::ui
