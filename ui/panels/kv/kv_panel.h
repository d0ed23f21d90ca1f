// SPDX-License-Identifier: GPL-3.0-or-later
// KV cache: the map of all blocks, its counts, and how much of it is waste.
#pragma once

#include "ui/panels/panel.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/kv_map.h"

namespace lathe::ui {

extern const PanelDescriptor kKvPanel;

/// Share of the slots in used blocks that hold no token, paged and as one contiguous region of max_model_len a request would
/// have it. `reserved` of the first: in blocks that hold nothing at all, because their request may need them later.
struct KvWaste {
  double paged = 0, contiguous = 0, reserved = 0;
  int n_reserved = 0;  ///< blocks
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

  PanelContext context_;
  QLabel* counts_;
  QLabel* waste_;
  QLabel* empty_;
  KvMap* map_;
  KvLegend* legend_;
  bool frozen_ = false;
};

}  // namespace lathe::ui
