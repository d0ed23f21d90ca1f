// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/panel.h"

namespace lathe::ui {
namespace {
class ChatListPanel final : public Panel {
 public:
  ChatListPanel(const PanelContext&, QWidget* parent) : Panel(parent) {}
};
}  // namespace

extern const PanelDescriptor kChatListPanel;
constexpr PanelDescriptor kChatListPanel{.id = "chat_list", .title = QT_TRANSLATE_NOOP("Panels", "Chats"), .icon = "chat-small", .area = PanelArea::left, .at_first = true,
  .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new ChatListPanel(context, parent); }};

}  // namespace lathe::ui
