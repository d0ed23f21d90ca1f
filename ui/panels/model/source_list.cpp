// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/source_list.h"

#include <QPainter>

#include "ui/models/load_choice.h"
#include "ui/models/load_words.h"
#include "ui/panels/fold_memory.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/fit_bar.h"
#include "ui/widgets/section.h"

namespace lathe::ui {
namespace {

constexpr int kRow = 44, kDrop = 136;

/// The dashed place; dropping itself is the window's.
class DropPlace final : public QWidget {
 public:
  DropPlace(const PanelContext& context, QWidget* parent) : QWidget(parent), theme_(context.theme) {
    setObjectName(QStringLiteral("model.drop"));
    setFixedHeight(theme_.px(kDrop));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, theme_.px(48), 0, theme_.px(10));
    column->setSpacing(theme_.px(2));
    QLabel* what = make_label(theme_, QStringLiteral("model.drop.what"), SourceList::tr("Drop a model here"), this, 13,
                              QFont::DemiBold, TextTone::text);
    QLabel* kinds = make_label(theme_, QStringLiteral("model.drop.kinds"), SourceList::tr("a GGUF file or a safetensors folder"), this, 12);
    QPushButton* open = make_button(theme_, QStringLiteral("model.drop.open"), SourceList::tr("Open a model"), this);
    open->setIcon(theme_.icon(QStringLiteral("folder")));
    QObject::connect(open, &QPushButton::clicked, context.actions[QStringLiteral("model.open")], &QAction::trigger);
    for (QWidget* widget : {static_cast<QWidget*>(what), static_cast<QWidget*>(kinds), static_cast<QWidget*>(open)})
      column->addWidget(widget, 0, Qt::AlignHCenter);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPen dashes(theme_.tokens().strong, 1.2);
    dashes.setDashPattern({4, 3});
    painter.setPen(dashes);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), theme_.px(8), theme_.px(8));
    const int side = theme_.px(26);
    theme_.icon(QStringLiteral("model")).paint(&painter, QRect((width() - side) / 2, theme_.px(15), side, side));
  }

 private:
  const Theme& theme_;
};

}  // namespace

SourceRow::SourceRow(const Theme& theme, const app::LibraryEntry& entry, QWidget* parent)
    : QAbstractButton(parent), theme_(theme), path_(entry.path), chip_(new Chip(theme, this)) {
  const QString name = entry.is_demo ? tr("Lathe demo") : QString::fromStdString(entry.name);
  setObjectName(QStringLiteral("model.source.") + QString::fromStdString(entry.name));
  setText(name);
  setAccessibleName(name);
  setToolTip(QString::fromStdString(entry.path));
  setFocusPolicy(Qt::TabFocus);
  setFixedHeight(theme.px(kRow));
  chip_->setObjectName(QStringLiteral("model.source.chip"));
  chip_->hide();
}

QSize SourceRow::sizeHint() const { return {theme_.px(200), theme_.px(kRow)}; }

void SourceRow::set_facts(const QString& line, ChipState state, const QString& word) {
  line_ = line;
  chip_->set(state, ChipMark::none, word);
  chip_->setVisible(!word.isEmpty());
  setAccessibleDescription(line + QStringLiteral(", ") + word);
  update();
}

void SourceRow::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (underMouse() || hasFocus()) {
    painter.setPen(hasFocus() ? QPen(t.focus, 1) : QPen(Qt::NoPen));
    painter.setBrush(underMouse() ? t.hover : Qt::transparent);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(6), theme_.px(6));
  }
  const int side = theme_.px(16);
  theme_.icon(QStringLiteral("model")).paint(&painter, QRect(theme_.px(8), (height() - side) / 2, side, side));
  const QSize chip = chip_->sizeHint();
  chip_->setGeometry(width() - chip.width() - theme_.px(8), (height() - chip.height()) / 2, chip.width(), chip.height());
  const QRect words(theme_.px(32), theme_.px(5),
                    width() - theme_.px(40) - (chip_->isHidden() ? 0 : chip.width() + theme_.px(10)),
                    height() - theme_.px(10));
  painter.setFont(theme_.font(13, QFont::Medium));
  painter.setPen(t.text);
  painter.drawText(words, Qt::AlignTop | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(text(), Qt::ElideRight, words.width()));
  painter.setFont(theme_.font(11));
  painter.setPen(t.text3);
  painter.drawText(words, Qt::AlignBottom | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(line_, Qt::ElideRight, words.width()));
}

SourceList::SourceList(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("model.sources"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(context.theme.px(10));
  column->addWidget(new DropPlace(context, this));
  auto* section =
      new Section(context.theme, QStringLiteral("model.section.sources"), tr("Recent and watched folders"), this);
  remember_fold(*section, context.state);
  rows_layout_ = section->rows();
  rows_layout_->setSpacing(0);
  column->addWidget(section);
  column->addStretch(1);
  connect(&context.navigator, &Navigator::folders_changed, this, [this] { reload(); });
}

void SourceList::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  reload();
}

SourceList::Facts SourceList::look_at(const std::string& path) {
  Facts facts;
  const engine::Result<engine::ModelInfo> info = engine::inspect_checkpoint(path);
  if (!info) return {QString::fromStdString(info.error().message), tr("Error"), ChipState::error};
  const QStringList parts{family_words(info->architecture), count_words(info->n_parameters), stored_words(*info),
                          bytes_words(info->file_bytes)};
  facts.line = parts.join(QStringLiteral(" · "));
  engine::EngineOptions options;
  options.model = path;
  if (const engine::Result<engine::FitEstimate> fit = engine::estimate_fit(*info, options)) {
    facts.word = verdict_word(fit->verdict);
    facts.state = chip_state(fit->verdict);
  }
  return facts;
}

void SourceList::reload() {
  if (!isVisible()) return;
  const std::uint64_t number = ++reading_;
  context_.background.run(
      this, [&library = context_.workbench.library()] { return library.entries(); },
      [this, number](std::vector<app::LibraryEntry> entries) {
        if (number == reading_) show_entries(entries);
      });
}

void SourceList::show_entries(const std::vector<app::LibraryEntry>& entries) {
  for (SourceRow* row : rows_) {
    row->hide();
    row->deleteLater();
  }
  rows_.clear();
  for (const app::LibraryEntry& entry : entries) {
    auto* row = new SourceRow(context_.theme, entry, this);
    rows_.push_back(row);
    rows_layout_->addWidget(row);
    connect(row, &QAbstractButton::clicked, this, [this, path = entry.path] { context_.load.choose(path); });
    if (facts_.count(entry.path) != 0) continue;
    context_.background.run(
        this, [path = entry.path] { return look_at(path); },
        [this, path = entry.path](Facts facts) {
          facts_[path] = std::move(facts);
          refresh();
        });
  }
  refresh();
}

void SourceList::refresh() {
  const app::ModelStatus& status = context_.bridge.model_status();
  for (SourceRow* row : rows_) {
    const auto found = facts_.find(row->path());
    const Facts facts = found != facts_.end() ? found->second : Facts{};
    const bool mine = row->path() == status.path;
    if (mine && status.state == app::ModelState::loading) row->set_facts(facts.line, ChipState::accent, tr("Loading"));
    else if (mine && status.state == app::ModelState::ready) row->set_facts(facts.line, ChipState::success, tr("Loaded"));
    else row->set_facts(facts.line, facts.state, facts.word);
  }
}

}  // namespace lathe::ui
