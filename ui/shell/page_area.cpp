// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/page_area.h"

#include "ui/widgets/fitted_area.h"

namespace lathe::ui {
namespace {

constexpr int kLeastPageWidth = 320, kLeastPageHeight = 200;

}  // namespace

PageArea::PageArea(const Theme& theme, QWidget* parent) : QStackedWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("pages"));
}

void PageArea::add(ui::Panel* page) {
  auto* area = new FittedArea(page, this);
  area->setObjectName(QStringLiteral("page"));
  addWidget(area);
  pages_.push_back(page);
}

ui::Panel* PageArea::page(int index) const { return index >= 0 ? pages_.at(static_cast<std::size_t>(index)) : nullptr; }

ui::Panel* PageArea::current_page() const { return page(currentIndex()); }

QSize PageArea::minimumSizeHint() const { return {theme_.px(kLeastPageWidth), theme_.px(kLeastPageHeight)}; }

}  // namespace lathe::ui
