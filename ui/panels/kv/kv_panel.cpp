// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/kv/kv_panel.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QPainter>
#include <QShowEvent>
#include <QVBoxLayout>
#include <utility>

namespace lathe::ui {
namespace {

constexpr int kWholeLegend = 420, kReservedWord = 76;

Panel* make_kv(const PanelContext& context, QWidget* parent) { return new KvPanel(context, parent); }

QString bold(int n) { return QStringLiteral("<b>%1</b>").arg(QLocale().toString(n)); }

}  // namespace

/// Legend of the kinds of cells, painted as in the map.
class KvLegend : public QWidget {
 public:
  KvLegend(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
    setObjectName(QStringLiteral("kv.legend"));
    setFixedHeight(theme.px(20));
  }
  /// Shows or hides the entry for reserved cells, which only an engine that reserves space has.
  void show_reserved(bool reserves) {
    if (std::exchange(reserves_, reserves) != reserves) update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setFont(theme_.font(11));
    const Tokens& tokens = theme_.tokens();
    qreal x = 0;
    for (int i = 0; i < 4; ++i, x += 8) painter.fillRect(QRectF(x, 6, 7, 7), tokens.kv[static_cast<std::size_t>(i)]);
    const bool narrow = width() < theme_.px(reserves_ ? kWholeLegend + kReservedWord : kWholeLegend);
    x = word(painter, x + 4, narrow ? tr("requests") : tr("one colour per request"));
    const QRectF shared(x, 6, 8, 8);
    painter.fillRect(shared, tokens.accent);
    painter.setPen(Qt::white);
    painter.drawLine(shared.bottomLeft(), shared.topRight());
    x = word(painter, x + 12, tr("shared"));
    painter.fillRect(QRectF(x, 6, 8, 8), mixed(tokens.kv[0], tokens.page, 0.25));
    painter.fillRect(QRectF(x, 10, 8, 4), tokens.kv[0]);
    x = word(painter, x + 12, tr("filling"));
    if (reserves_) {
      paint_reserved_cell(painter, QRect(static_cast<int>(x), 6, 8, 8), tokens.kv[0], tokens);
      x = word(painter, x + 12, tr("reserved"));
    }
    painter.fillRect(QRectF(x, 6, 8, 8), tokens.kv_cached);
    x = word(painter, x + 12, tr("cached"));
    painter.setPen(tokens.kv_free);
    painter.drawRect(QRectF(x, 6, 8, 8));
    word(painter, x + 12, tr("free"));
  }

 private:
  static QString tr(const char* text) { return KvPanel::tr(text); }
  qreal word(QPainter& painter, qreal x, const QString& text) const {
    painter.setPen(theme_.tokens().text2);
    painter.drawText(QRectF(x, 0, 400, height()), Qt::AlignLeft | Qt::AlignVCenter, text);
    return x + painter.fontMetrics().horizontalAdvance(text) + 12;
  }
  const Theme& theme_;
  bool reserves_ = false;
};

extern constexpr PanelDescriptor kKvPanel{.id = "kv",
                                          .title = QT_TRANSLATE_NOOP("Panels", "KV cache"),
                                          .icon = "kv",
                                          .area = PanelArea::bottom,
                                          .at_first = false,
                                          .make = make_kv};

KvWaste waste_of(const engine::EngineSnapshot& snapshot, std::int64_t max_model_len) {
  KvWaste waste;
  std::int64_t used_slots = 0, filled = 0, reserved = 0, computed = 0;
  const bool reserves = reserves_room(snapshot);
  for (const engine::KvBlockState& block : snapshot.blocks) {
    if (block.n_references == 0) continue;
    used_slots += snapshot.block_size;
    filled += block.n_filled;
    if (cell_of(block, reserves) == KvCell::reserved) ++waste.n_reserved;
  }
  for (const engine::ActiveRequest& request : snapshot.requests) {
    if (request.n_blocks == 0) continue;
    reserved += max_model_len;
    computed += request.n_computed;
  }
  if (used_slots > 0) {
    waste.paged = 1.0 - static_cast<double>(filled) / static_cast<double>(used_slots);
    waste.reserved = static_cast<double>(waste.n_reserved) * snapshot.block_size / static_cast<double>(used_slots);
  }
  if (reserved > 0) waste.contiguous = 1.0 - static_cast<double>(computed) / static_cast<double>(reserved);
  return waste;
}

KvPanel::KvPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
  setObjectName(QStringLiteral("kv"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(14), theme.px(8), theme.px(14), theme.px(6));
  column->setSpacing(theme.px(6));
  auto* head = new QHBoxLayout;
  counts_ = make_label(theme, "kv.counts", {}, this, 12);
  waste_ = make_label(theme, "kv.waste", {}, this, 12);
  counts_->setTextFormat(Qt::RichText);
  waste_->setTextFormat(Qt::RichText);
  head->addWidget(counts_);
  head->addStretch();
  head->addWidget(waste_);
  column->addLayout(head);
  map_ = new KvMap(theme, this);
  column->addWidget(map_, 1);
  states_ = new StateMap(theme, this);
  column->addWidget(states_);
  empty_ = make_label(theme, "kv.empty", tr("No model loaded: its KV cache will be shown here, block by block."), this, 12,
                      QFont::Normal, TextTone::text3);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  column->addWidget(empty_, 1);
  legend_ = new KvLegend(theme, this);
  column->addWidget(legend_);
  connect(map_, &KvMap::request_clicked, this, &KvPanel::highlight);
  connect(states_, &StateMap::request_clicked, this, &KvPanel::highlight);
  connect(&context.bridge, &Bridge::snapshot_changed, this, &KvPanel::follow_state);
  connect(&context.bridge, &Bridge::model_changed, this, &KvPanel::follow_state);
  context.actions.on("view.freeze_charts", this, [this](bool on) {
    frozen_ = false;
    show_state();
    frozen_ = on;
  });
  context.bridge.watch(this, Interest::snapshot | Interest::model | Interest::blocks);
  show_parts(false);
}

QWidget* KvPanel::title_tools() {
  auto* freeze = make_icon_button(context_.theme, "kv.freeze", "freeze", tr("Freeze the charts; measuring continues"),
                                  nullptr, 24, IconTone::quiet);
  follow_action(*freeze, *context_.actions[QStringLiteral("view.freeze_charts")]);
  return freeze;
}

/// Updates only while the panel can be seen, because it reads every block.
void KvPanel::follow_state() {
  if (seen()) show_state();
}

void KvPanel::show_state() {
  const auto& snapshot = context_.bridge.snapshot();
  const bool loaded = snapshot != nullptr && snapshot->n_blocks > 0;
  show_parts(loaded);
  if (!loaded || frozen_ || snapshot->blocks.empty()) return;  // blocks come as soon as the engine knows of the watch
  const KvWaste waste = waste_of(*snapshot, context_.bridge.loaded() ? context_.bridge.loaded()->max_model_len : 0);
  show_counts(*snapshot, waste);
  show_waste(*snapshot, waste);
  legend_->show_reserved(reserves_room(*snapshot));
  map_->show_snapshot(snapshot);
  states_->show_states(snapshot->states);
}

void KvPanel::highlight(std::uint64_t request) {
  map_->highlight(request);
  states_->highlight(request);
}

void KvPanel::show_counts(const engine::EngineSnapshot& snapshot, const KvWaste& waste) {
  QString words = tr("%1 in use").arg(bold(snapshot.n_blocks_used));
  if (reserves_room(snapshot)) words += tr(" (%1 reserved)").arg(bold(waste.n_reserved));
  words += tr(" &nbsp; %1 cached &nbsp; %2 free").arg(bold(snapshot.n_blocks_cached), bold(snapshot.n_blocks_free));
  for (const engine::KvWindowState& of : snapshot.windows) {
    words += tr(" &nbsp; window %1: %2 of %3")
                 .arg(QLocale().toString(static_cast<qlonglong>(of.window)), bold(of.n_blocks_used), bold(of.n_blocks));
  }
  if (const engine::RecurrentStates& states = snapshot.states; states.n_slots > 0) {
    words += tr(" &nbsp; states %1 of %2").arg(bold(states.n_slots_used), bold(states.n_slots));
    if (states.n_snapshots > 0)
      words += tr(", snapshots %1 of %2").arg(bold(states.n_snapshots_held), bold(states.n_snapshots));
  }
  counts_->setText(words);
}

/// Shows the waste: with reservations, also the share of empty reserved blocks; else, also the waste that a contiguous cache
/// would have.
void KvPanel::show_waste(const engine::EngineSnapshot& snapshot, const KvWaste& waste) {
  const auto percent = [](double share) {
    return QStringLiteral("<b>%1 %</b>").arg(QLocale().toString(100 * share, 'f', share < 0.1 ? 1 : 0));
  };
  const bool reserves = reserves_room(snapshot);
  waste_->setToolTip(reserves ? tr("First, the share of slots without a token in used blocks; second, the share of all "
                                   "slots in reserved blocks that have no token")
                              : tr("First, the share of slots without a token in used blocks; second, the waste if each "
                                   "request reserved its whole context"));
  if (snapshot.n_blocks_used == 0) return waste_->clear();
  waste_->setText(reserves ? tr("waste %1, reserved %2").arg(percent(waste.paged), percent(waste.reserved))
                           : tr("waste %1, contiguous %2").arg(percent(waste.paged), percent(waste.contiguous)));
}

void KvPanel::show_parts(bool loaded) {
  empty_->setVisible(!loaded);
  for (QWidget* part : std::initializer_list<QWidget*>{map_, legend_, counts_, waste_}) part->setVisible(loaded);
  if (!loaded) states_->hide();
}

void KvPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  if (event->spontaneous()) show_state();  // the window was minimised before
}

void KvPanel::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), context_.theme.tokens().page); }

}  // namespace lathe::ui
