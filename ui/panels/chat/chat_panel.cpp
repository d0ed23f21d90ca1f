// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/panel.h"

namespace lathe::ui {
namespace {
class ChatPanel final : public Panel {
 public:
  ChatPanel(const PanelContext&, QWidget* parent) : Panel(parent) {}
};
}  // namespace

extern const PanelDescriptor kChatPanel;
constexpr PanelDescriptor kChatPanel{.id = "chat", .title = QT_TRANSLATE_NOOP("Panels", "Chat"), .icon = "chat", .area = PanelArea::page, .at_first = true,
  .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new ChatPanel(context, parent); }};

}  // namespace lathe::ui
