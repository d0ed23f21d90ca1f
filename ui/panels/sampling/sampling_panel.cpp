// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/panel.h"

namespace lathe::ui {
namespace {
class SamplingPanel final : public Panel {
 public:
  SamplingPanel(const PanelContext&, QWidget* parent) : Panel(parent) {}
};
}  // namespace

extern const PanelDescriptor kSamplingPanel;
constexpr PanelDescriptor kSamplingPanel{.id = "sampling", .title = QT_TRANSLATE_NOOP("Panels", "Sampling"), .icon = "sampling", .area = PanelArea::right, .at_first = true,
  .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new SamplingPanel(context, parent); }};

}  // namespace lathe::ui
