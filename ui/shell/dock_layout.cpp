// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/dock_layout.h"

#include <QEvent>
#include <QTabBar>
#include <QVBoxLayout>

#include "ui/shell/dock_strip.h"
#include "ui/widgets/dock_title.h"
#include "ui/widgets/fitted_area.h"

namespace lathe::ui {
namespace {

constexpr int kLeastDockWidth = 120, kLeastDockHeight = 60;
constexpr int kLeftWidth = 304, kRightWidth = 300, kStateVersion = 1;

/// Size of a bottom dock in the layout Serving at 1440 x 900.
struct BottomSize {
  const char* id;
  int width, height;
};
constexpr BottomSize kBottomSizes[] = {{"requests", 1326, 264}, {"monitor", 864, 233}, {"kv", 462, 233}};

/// Page and its preset; the other pages have "chat".
struct PagePreset {
  const char* page;
  const char* preset;
};
constexpr PagePreset kPagePresets[] = {{"serve", "serving"}, {"bench", "benchmark"}};

QString page_key(const QString& page) { return QStringLiteral("docks/%1").arg(page); }

/// Lets a tab bar take the focus where it can be seen: Qt moves one without docks out of the window and leaves it visible.
void keep_focus_off_parked(QTabBar& bar) {
  const bool is_parked = bar.geometry().right() < 0 || bar.geometry().bottom() < 0;
  bar.setFocusPolicy(is_parked ? Qt::NoFocus : Qt::TabFocus);
  if (is_parked && bar.hasFocus()) bar.clearFocus();
}

/// Holds the panel, and above it the title tools while the dock's tab replaces its title bar. A dock may be smaller than its
/// panel, which then scrolls: Qt would let docks overlap that are too large for the window.
class DockBody final : public QWidget {
 public:
  DockBody(const Theme& theme, QWidget* panel, QWidget* tools, QWidget* parent) : QWidget(parent), tools_(tools) {
    setProperty("plane", QStringLiteral("dock"));
    setAttribute(Qt::WA_StyledBackground);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    row_ = new QWidget(this);
    auto* line = new QHBoxLayout(row_);
    line->setContentsMargins(theme.px(14), theme.px(4), theme.px(10), theme.px(4));
    line->addStretch(1);
    row_->hide();
    column->addWidget(row_);
    scroll_ = new FittedArea(panel, this);
    scroll_->setObjectName(QStringLiteral("dock"));
    column->addWidget(scroll_, 1);
    least_ = QSize(theme.px(kLeastDockWidth), theme.px(kLeastDockHeight));
  }
  QSize minimumSizeHint() const override { return least_; }
  QSize sizeHint() const override { return QWidget::sizeHint().expandedTo(least_); }
  /// Hides the contents while the dock is behind a tab. This widget itself stays: a dock takes its size from it.
  void set_behind(bool behind) {
    is_behind_ = behind;
    scroll_->setVisible(!behind);
    row_->setVisible(takes_ && !behind);
  }
  void take_tools(bool take) {
    takes_ = take && tools_ != nullptr;
    row_->setVisible(takes_ && !is_behind_);
    if (take && tools_ != nullptr) {
      row_->layout()->addWidget(tools_);
      tools_->show();
    }
  }

 private:
  QWidget* row_;
  QWidget* tools_;
  FittedArea* scroll_;
  QSize least_;
  bool takes_ = false, is_behind_ = false;
};

}  // namespace

DockLayout::DockLayout(QMainWindow& window, const PanelContext& context)
    : QObject(&window), window_(window), context_(context) {
  window.setDockNestingEnabled(true);
  window.setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  window.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  window.installEventFilter(this);
  for (const PanelDescriptor* descriptor : panel_table())
    if (descriptor->area != PanelArea::page) make_dock(*descriptor);
  make_strip();
  place_docks();
  apply_preset(QStringLiteral("chat"));
  update_bodies();
}

void DockLayout::make_dock(const PanelDescriptor& descriptor) {
  const QString id = QLatin1String(descriptor.id);
  auto* dock = new QDockWidget(title_of(descriptor), &window_);
  dock->setObjectName(QStringLiteral("dock.") + id);
  dock->setAllowedAreas(Qt::AllDockWidgetAreas);
  Panel* panel = descriptor.make(context_, dock);
  panel->setObjectName(id);
  panel->setAccessibleName(title_of(descriptor));
  QWidget* tools = panel->title_tools();
  auto* title = new DockTitle(context_.theme, dock, tools);
  dock->setTitleBarWidget(title);
  dock->setWidget(new DockBody(context_.theme, panel, tools, dock));
  entries_.push_back({&descriptor, dock, panel});
  connect(title, &DockTitle::maximise_asked, this, [this, dock] { toggle_maximised(dock); });
  connect(dock, &QDockWidget::visibilityChanged, this, [this, panel, dock](bool visible) {
    if (visible) static_cast<DockBody*>(dock->widget())->set_behind(false);
    if (visible)
      QMetaObject::invokeMethod(
          panel, [panel] { panel->came_into_view(); }, Qt::QueuedConnection);
    update_titles();
    Q_EMIT changed();
  });
  for (const auto signal : {&QDockWidget::topLevelChanged, &QDockWidget::visibilityChanged})
    connect(dock, signal, this, [this] { update_titles(); });
  connect(dock, &QDockWidget::dockLocationChanged, this, [this] { update_titles(); });
}

void DockLayout::make_strip() {
  auto* strip = new DockStrip(context_.theme, &window_);
  strip_ = strip;
  for (const DockEntry& entry : entries_) {
    if (entry.descriptor->area != PanelArea::left) continue;
    const QString id = QLatin1String(entry.descriptor->id);
    strip->add(id, title_of(*entry.descriptor), QLatin1String(entry.descriptor->icon));
  }
  connect(strip, &DockStrip::chosen, this, [this](const QString& id) {
    set_area_visible(PanelArea::right, false);
    set_area_visible(PanelArea::left, true);
    raise(id);
  });
  connect(&context_.bridge, &Bridge::model_changed, this, &DockLayout::update_strip);
  connect(&context_.load, &LoadChoice::fit_changed, this, &DockLayout::update_strip);
  connect(&context_.load, &LoadChoice::changed, this, &DockLayout::update_strip);
  // A separate column, to the right of the rail.
  window_.addToolBarBreak(Qt::LeftToolBarArea);
  window_.addToolBar(Qt::LeftToolBarArea, strip);
  strip_->hide();
}

void DockLayout::update_strip() {
  const std::optional<engine::FitEstimate>& fit = context_.load.fit();
  const std::optional<engine::ModelInfo>& info = context_.load.info();
  QString fact;
  if (info) fact = QString::fromStdString(info->name);
  if (info && fit) fact += QStringLiteral(", %1").arg(QString::fromUtf8(engine::name_of(fit->verdict).data()).toLower());
  const bool ready = context_.bridge.model_status().state == app::ModelState::ready;
  static_cast<DockStrip*>(strip_)->set_fact(QStringLiteral("model"), fact,
                                            ready ? context_.theme.tokens().success.fill : QColor());
}

QDockWidget* DockLayout::dock(const QString& id) const {
  for (const DockEntry& entry : entries_)
    if (id == QLatin1String(entry.descriptor->id)) return entry.dock;
  return nullptr;
}

void DockLayout::raise(const QString& id) {
  QDockWidget* found = dock(id);
  if (found == nullptr) return;
  found->show();
  found->raise();
}

Qt::DockWidgetArea DockLayout::qt_area(PanelArea area) const {
  if (area == PanelArea::left) return Qt::LeftDockWidgetArea;
  return area == PanelArea::right ? Qt::RightDockWidgetArea : Qt::BottomDockWidgetArea;
}

/// Puts the left docks in one tab row. At the bottom, Requests is above the others, which are next to each other, with the
/// log as a tab under the last.
void DockLayout::place_docks() {
  QDockWidget* first_left = nullptr;
  QDockWidget* first_right = nullptr;
  QDockWidget* last_bottom = nullptr;
  for (const DockEntry& entry : entries_) {
    entry.dock->setFloating(false);
    window_.addDockWidget(qt_area(entry.descriptor->area), entry.dock);
    if (entry.descriptor->area == PanelArea::left) {
      if (first_left != nullptr) window_.tabifyDockWidget(first_left, entry.dock);
      else first_left = entry.dock;
    } else if (entry.descriptor->area == PanelArea::right) {
      if (first_right != nullptr) window_.tabifyDockWidget(first_right, entry.dock);
      else first_right = entry.dock;
    } else {
      const QString id = QLatin1String(entry.descriptor->id);
      if (last_bottom == nullptr) last_bottom = entry.dock;
      else if (id == QLatin1String("log")) window_.tabifyDockWidget(last_bottom, entry.dock);
      else {
        const bool below = last_bottom->objectName() == QLatin1String("dock.requests");
        window_.splitDockWidget(last_bottom, entry.dock, below ? Qt::Vertical : Qt::Horizontal);
        last_bottom = entry.dock;
      }
    }
  }
  if (first_left != nullptr) first_left->raise();
  if (first_right != nullptr) first_right->raise();
}

void DockLayout::apply_preset(const QString& name) {
  maximised_ = nullptr;
  arranged_ = page_;
  const bool everything = name == QLatin1String("everything"), serving = name == QLatin1String("serving"),
             benchmark = name == QLatin1String("benchmark");
  for (const DockEntry& entry : entries_) {
    const bool bottom = entry.descriptor->area == PanelArea::bottom;
    const bool log = QLatin1String(entry.descriptor->id) == QLatin1String("log");
    entry.dock->setVisible(everything || (!benchmark && (serving ? bottom && !log : !bottom)));
  }
  for (const DockEntry& entry : entries_)
    if (entry.descriptor->at_first && entry.dock->isVisibleTo(&window_)) entry.dock->raise();
  if (narrow_) set_area_visible(PanelArea::left, false);
  size_docks();
  update_titles();
}

void DockLayout::size_docks() {
  const Theme& theme = context_.theme;
  for (const DockEntry& entry : entries_) {
    // Side panels are designed for one width; before the first show resizeDocks() alone has no effect.
    if (entry.descriptor->area == PanelArea::left) entry.dock->setMinimumWidth(theme.px(kLeftWidth));
    if (entry.descriptor->area == PanelArea::right) entry.dock->setMinimumWidth(theme.px(kRightWidth));
    if (!entry.dock->isVisibleTo(&window_) || entry.dock->isFloating()) continue;
    if (entry.descriptor->area == PanelArea::left) window_.resizeDocks({entry.dock}, {theme.px(kLeftWidth)}, Qt::Horizontal);
    if (entry.descriptor->area == PanelArea::right)
      window_.resizeDocks({entry.dock}, {theme.px(kRightWidth)}, Qt::Horizontal);
  }
  QList<QDockWidget*> docks;
  QList<int> widths, heights;
  for (const BottomSize& size : kBottomSizes) {
    QDockWidget* found = dock(QLatin1String(size.id));
    if (found == nullptr || !found->isVisibleTo(&window_) || found->isFloating()) continue;
    docks.append(found);
    widths.append(theme.px(size.width));
    heights.append(theme.px(size.height));
  }
  window_.resizeDocks(docks, heights, Qt::Vertical);
  window_.resizeDocks(docks, widths, Qt::Horizontal);
}

bool DockLayout::restore(const QByteArray& state) {
  const bool restored = window_.restoreState(state, kStateVersion);
  strip_->setVisible(narrow_ && !area_visible(PanelArea::left));
  update_titles();
  return restored;
}

std::vector<DockLayout::Floating> DockLayout::floating() const {
  std::vector<Floating> found;
  for (const DockEntry& entry : entries_)
    if (entry.dock->isFloating() && entry.dock->isVisible()) found.push_back({entry.dock, entry.dock->geometry()});
  return found;
}

void DockLayout::keep() {
  if (page_.isEmpty() || narrow_ || arranged_ != page_) return;
  context_.state.set(page_key(page_), maximised_ != nullptr ? before_maximised_ : window_.saveState(kStateVersion));
}

void DockLayout::forget_pages() {
  for (const PanelDescriptor* descriptor : panel_table())
    if (descriptor->area == PanelArea::page) context_.state.set(page_key(QLatin1String(descriptor->id)), QByteArray());
  arranged_.clear();
}

void DockLayout::show_for_page(const QString& page) {
  if (page == page_ && arranged_ == page_) return;
  if (maximised_ != nullptr) toggle_maximised(nullptr);
  keep();
  page_ = page;
  if (!narrow_) arrange();
}

/// Opens the docks of the page that is shown.
void DockLayout::arrange() {
  arranged_ = page_;
  const std::vector<Floating> floats = floating();
  QByteArray state = context_.state.get(page_key(page_)).toByteArray();
  // Versions before kept one layout for all pages.
  if (state.isEmpty() && page_ == QLatin1String("chat"))
    state = context_.state.get(QStringLiteral("window/docks")).toByteArray();
  if (state.isEmpty() || !restore(state)) {
    const auto* found = std::find_if(std::begin(kPagePresets), std::end(kPagePresets),
                                     [this](const PagePreset& row) { return page_ == QLatin1String(row.page); });
    apply_preset(QLatin1String(found != std::end(kPagePresets) ? found->preset : "chat"));
  }
  for (const Floating& one : floats) {
    one.dock->setFloating(true);
    one.dock->setGeometry(one.geometry);
    one.dock->show();
  }
}

bool DockLayout::area_visible(PanelArea area) const {
  for (const DockEntry& entry : entries_)
    if (entry.descriptor->area == area && entry.dock->isVisibleTo(&window_)) return true;
  return false;
}

void DockLayout::set_area_visible(PanelArea area, bool visible) {
  for (const DockEntry& entry : entries_) {
    if (entry.descriptor->area != area) continue;
    const bool log = QLatin1String(entry.descriptor->id) == QLatin1String("log");
    if (!visible || !log) entry.dock->setVisible(visible);
  }
  if (visible) {
    if (narrow_ && area == PanelArea::left) set_area_visible(PanelArea::right, false);
    if (narrow_ && area == PanelArea::right) set_area_visible(PanelArea::left, false);
    for (const DockEntry& entry : entries_)
      if (entry.descriptor->area == area && entry.descriptor->at_first) entry.dock->raise();
    size_docks();
  }
  if (narrow_) strip_->setVisible(!area_visible(PanelArea::left));
  update_titles();
}

void DockLayout::set_narrow(bool narrow) {
  if (narrow_ == narrow) return;
  if (narrow) keep();
  narrow_ = narrow;
  if (narrow) {
    left_before_narrow_ = area_visible(PanelArea::left);
    right_before_narrow_ = area_visible(PanelArea::right);
    set_area_visible(PanelArea::left, false);
    strip_->show();
    return;
  }
  strip_->hide();
  if (arranged_ != page_) return arrange();
  if (left_before_narrow_) set_area_visible(PanelArea::left, true);
  if (right_before_narrow_ && !area_visible(PanelArea::right)) set_area_visible(PanelArea::right, true);
}

void DockLayout::toggle_maximised(QDockWidget* dock) {
  QWidget* page = window_.centralWidget();
  if (maximised_ != nullptr) {
    maximised_ = nullptr;
    page->show();
    restore(before_maximised_);
  } else if (dock != nullptr && !dock->isFloating()) {
    before_maximised_ = window_.saveState(kStateVersion);
    maximised_ = dock;
    const Qt::DockWidgetArea area = window_.dockWidgetArea(dock);
    for (const DockEntry& entry : entries_) {
      const bool tabbed_with = window_.tabifiedDockWidgets(dock).contains(entry.dock);
      if (entry.dock != dock && !tabbed_with && window_.dockWidgetArea(entry.dock) == area) entry.dock->hide();
    }
    page->hide();
  }
  update_titles();
  Q_EMIT changed();
}

bool DockLayout::eventFilter(QObject* object, QEvent* event) {
  // Qt makes and removes the tab bars of docks by itself.
  const QEvent::Type type = event->type();
  if (auto* bar = qobject_cast<QTabBar*>(object)) {
    if (type == QEvent::Move) keep_focus_off_parked(*bar);
  } else if (type == QEvent::ChildAdded || type == QEvent::LayoutRequest || type == QEvent::Show) update_titles();
  return QObject::eventFilter(object, event);
}

void DockLayout::update_titles() {
  if (update_queued_) return;
  update_queued_ = true;
  QMetaObject::invokeMethod(
      this,
      [this] {
        update_queued_ = false;
        for (const DockEntry& entry : entries_) {
          bool tabbed = false;
          if (!entry.dock->isFloating())
            for (const QDockWidget* other : window_.tabifiedDockWidgets(entry.dock)) tabbed |= other->isVisibleTo(&window_);
          static_cast<DockTitle*>(entry.dock->titleBarWidget())->set_tabbed(tabbed);
          static_cast<DockBody*>(entry.dock->widget())->take_tools(tabbed);
        }
        update_tab_bars();
        update_bodies();
      },
      Qt::QueuedConnection);
}

/// Hides the contents of docks behind a tab. Qt moves such docks out of the window, where they would still take the focus.
void DockLayout::update_bodies() {
  for (const DockEntry& entry : entries_) {
    const QRect place = entry.dock->geometry();
    const bool is_behind = !entry.dock->isFloating() && entry.dock->isVisible() && (place.right() < 0 || place.bottom() < 0);
    static_cast<DockBody*>(entry.dock->widget())->set_behind(is_behind);
  }
}

void DockLayout::update_tab_bars() {
  for (QTabBar* bar : window_.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (bar->property("lathe").toBool()) continue;
    bar->setProperty("lathe", true);
    if (bar->objectName().isEmpty()) bar->setObjectName(QStringLiteral("dock.tabs"));
    bar->setAccessibleName(tr("Docks"));
    bar->setFont(context_.theme.font(12, QFont::DemiBold));
    bar->setDrawBase(false);
    bar->setExpanding(false);
    bar->setElideMode(Qt::ElideNone);
    bar->setUsesScrollButtons(false);
    bar->setDocumentMode(true);
    bar->installEventFilter(this);
    keep_focus_off_parked(*bar);
  }
}

}  // namespace lathe::ui
