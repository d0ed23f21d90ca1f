// SPDX-License-Identifier: GPL-3.0-or-later
#include <QCoreApplication>

#include "engine/api/table.h"
#include "ui/panels/panel.h"

namespace lathe::ui {

// THE TABLE of panels, pages before docks: one folder here and one line for each.
LATHE_TABLE(PanelDescriptor, kPanels,
  kChatPanel,
  kServePanel,
  kBenchPanel,
  kModelPanel,
  kChatListPanel,
  kSamplingPanel,
  kRequestsPanel,
  kMonitorPanel,
  kKvPanel,
  kLogPanel,
);

std::span<const PanelDescriptor* const> panel_table() { return kPanels; }

QString title_of(const PanelDescriptor& descriptor) { return QCoreApplication::translate("Panels", descriptor.title); }

}  // namespace lathe::ui
