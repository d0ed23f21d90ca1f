// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/panel.h"

namespace lathe::ui {
namespace {
class ModelPanel final : public Panel {
 public:
  ModelPanel(const PanelContext&, QWidget* parent) : Panel(parent) {}
};
}  // namespace

extern const PanelDescriptor kModelPanel;
constexpr PanelDescriptor kModelPanel{.id = "model", .title = QT_TRANSLATE_NOOP("Panels", "Model"), .icon = "model", .area = PanelArea::left, .at_first = true,
  .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new ModelPanel(context, parent); }};

}  // namespace lathe::ui
