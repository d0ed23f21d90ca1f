// SPDX-License-Identifier: GPL-3.0-or-later
// THE TABLE of panels. A new panel is a folder here and one line of this table.
#include <QCoreApplication>
#include <array>

#include "ui/panels/panel.h"

namespace lathe::ui {

extern const PanelDescriptor kChatPanel;      // chat
extern const PanelDescriptor kServePanel;     // serve
extern const PanelDescriptor kBenchPanel;     // bench
extern const PanelDescriptor kModelPanel;     // model
extern const PanelDescriptor kChatListPanel;  // chat_list
extern const PanelDescriptor kSamplingPanel;  // sampling
extern const PanelDescriptor kRequestsPanel;  // requests
extern const PanelDescriptor kMonitorPanel;   // monitor
extern const PanelDescriptor kKvPanel;        // kv
extern const PanelDescriptor kLogPanel;       // log

namespace {

constexpr std::array kPanels{
    &kChatPanel,
    &kServePanel,
    &kBenchPanel,
    // pages above, docks below
    &kModelPanel,
    &kChatListPanel,
    &kSamplingPanel,
    &kRequestsPanel,
    &kMonitorPanel,
    &kKvPanel,
    &kLogPanel,
};

}  // namespace

std::span<const PanelDescriptor* const> panel_table() { return kPanels; }

QString title_of(const PanelDescriptor& descriptor) { return QCoreApplication::translate("Panels", descriptor.title); }

}  // namespace lathe::ui
