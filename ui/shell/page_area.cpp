// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/page_area.h"

#include <QScrollArea>

namespace lathe::ui {
namespace {

constexpr int kLeastPageWidth = 320, kLeastPageHeight = 200;

}  // namespace

PageArea::PageArea(const Theme& theme, QWidget* parent) : QStackedWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("pages"));
}

void PageArea::add(ui::Panel* page) {
  auto* scroll = new QScrollArea(this);
  scroll->setObjectName(QStringLiteral("page"));
  scroll->setWidgetResizable(true);
  scroll->setFocusPolicy(Qt::NoFocus);  // the controls in the page take the focus
  scroll->setWidget(page);
  addWidget(scroll);
}

ui::Panel* PageArea::page(int index) const {
  const auto* scroll = static_cast<const QScrollArea*>(widget(index));
  return scroll != nullptr ? static_cast<ui::Panel*>(scroll->widget()) : nullptr;
}

ui::Panel* PageArea::current_page() const { return page(currentIndex()); }

QSize PageArea::minimumSizeHint() const { return {theme_.px(kLeastPageWidth), theme_.px(kLeastPageHeight)}; }

}  // namespace lathe::ui
