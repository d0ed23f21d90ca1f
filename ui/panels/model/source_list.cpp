// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/source_list.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QPainter>
#include <algorithm>

#include "ui/models/load_choice.h"
#include "ui/models/load_text.h"
#include "ui/panels/fold_memory.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/fit_bar.h"

namespace lathe::ui {
namespace {

constexpr int kDrop = 136;
/// Smallest number of models for which the filter is shown.
constexpr std::size_t kFilterFrom = 8;
constexpr int kLookMs = 200;
constexpr std::int64_t kThousand = 1024;  // tokens in 1k, as context lengths are written

/// The dashed area; FileDrop of the window handles the drop itself.
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
    QLabel* kinds = make_label(theme_, QStringLiteral("model.drop.kinds"),
                               SourceList::tr("a GGUF file or a safetensors folder"), this, 12);
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

/// "128k", "2,000"
QString context_text(std::int64_t n_tokens) {
  const QLocale locale;
  return n_tokens % kThousand == 0 ? SourceList::tr("%1k").arg(locale.toString(qlonglong(n_tokens / kThousand)))
                                   : locale.toString(qlonglong(n_tokens));
}

}  // namespace

SourceList::SourceList(const PanelContext& context, QWidget* parent)
    : QWidget(parent), context_(context), watch_(new FolderWatch(this)) {
  setObjectName(QStringLiteral("model.sources"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(context.theme.px(10));
  column->addWidget(new DropPlace(context, this));
  message_ = new InlineMessage(context.theme, QStringLiteral("model.sources.message"), this);
  message_->hide();
  column->addWidget(message_);
  section_ = new Section(context.theme, QStringLiteral("model.section.sources"), tr("Recent and watched folders"), this);
  remember_fold(*section_, context.state);
  make_filter();
  rows_layout_ = new QVBoxLayout;
  rows_layout_->setSpacing(0);
  section_->rows()->addLayout(rows_layout_);
  make_foot();
  column->addWidget(section_);
  column->addStretch(1);
  look_timer_.setInterval(kLookMs);
  connect(&look_timer_, &QTimer::timeout, this, &SourceList::show_progress);
  connect(&context.navigator, &Navigator::folders_changed, this, [this] { reload(); });
  connect(watch_, &FolderWatch::changed, this, [this] { reload(); });
}

SourceList::~SourceList() { stop_scan(); }

void SourceList::make_filter() {
  filter_ = new QLineEdit(this);
  filter_->setObjectName(QStringLiteral("model.sources.filter"));
  filter_->setAccessibleName(tr("Filter models"));
  filter_->setPlaceholderText(tr("Filter by name, family or quantization"));
  filter_->setClearButtonEnabled(true);
  filter_->hide();
  connect(filter_, &QLineEdit::textChanged, this, [this] { apply_filter(); });
  section_->rows()->addWidget(filter_);
}

void SourceList::make_foot() {
  const Theme& theme = context_.theme;
  empty_ = make_label(theme, QStringLiteral("model.sources.empty"), QString(), this, 12, QFont::Normal, TextTone::text3);
  empty_->setWordWrap(true);
  empty_->hide();
  section_->rows()->addWidget(empty_);
  auto* foot = new QHBoxLayout;
  foot->setSpacing(theme.px(6));
  QPushButton* add =
      make_button(theme, QStringLiteral("model.sources.add"), tr("Add folder…"), this, ButtonLook::plain, true);
  connect(add, &QPushButton::clicked, this, &SourceList::add_folder);
  scan_ = make_button(theme, QStringLiteral("model.sources.scan"), tr("Scan again"), this, ButtonLook::ghost, true);
  connect(scan_, &QPushButton::clicked, this, [this] { scan_state_ ? stop_scan() : reload(); });
  foot->addWidget(add);
  foot->addWidget(scan_);
  foot->addStretch(1);
  section_->rows()->addSpacing(theme.px(4));
  section_->rows()->addLayout(foot);
}

void SourceList::add_folder() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("A folder with models"));
  if (folder.isEmpty()) return;
  app::Settings& settings = context_.workbench.settings();
  engine::Json folders = settings.get("library/folders");
  if (std::find(folders.begin(), folders.end(), folder.toStdString()) == folders.end()) {
    folders.push_back(folder.toStdString());
  }
  settings.set("library/folders", std::move(folders));
  Q_EMIT context_.navigator.folders_changed();
}

void SourceList::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  reload();
}

void SourceList::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  stop_scan();
  watch_->watch({});
}

SourceList::Facts SourceList::facts_of(const app::ModelFacts& model) {
  if (model.error) {
    QString why = QString::fromStdString(model.error->message);
    if (!model.error->where.empty()) why += QStringLiteral(" (%1)").arg(QString::fromStdString(model.error->where));
    return {why, tr("Error"), ChipState::error};
  }
  const engine::ModelInfo& info = *model.info;
  QStringList parts{family_text(info.architecture), count_text(info.n_parameters), stored_text(info),
                    bytes_text(info.file_bytes)};
  if (info.max_position_embeddings > 0) parts.append(context_text(info.max_position_embeddings));
  return {parts.join(QStringLiteral(" · ")), verdict_word(model.verdict), chip_state(model.verdict)};
}

void SourceList::stop_scan() {
  if (scan_state_) scan_state_->stopped = true;
}

void SourceList::reload() {
  if (!isVisible()) return;
  stop_scan();
  auto scan = std::make_shared<ScanState>();
  scan_state_ = scan;
  scan_->setText(tr("Stop"));
  look_timer_.start();
  context_.background.run(
      this,
      [&library = context_.workbench.library(), scan] {
        return library.entries([scan](const app::ScanProgress& at) {
          scan->n_folders = at.n_folders;
          return !scan->stopped;
        });
      },
      [this, scan](std::vector<app::LibraryEntry> entries) {
        if (scan != scan_state_) return;  // a later search runs
        scan_state_.reset();
        look_timer_.stop();
        scan_->setText(tr("Scan again"));
        section_->set_fact(scan->stopped ? tr("stopped") : QString());
        message_->hide();
        show_entries(entries);
        follow_changes(entries);
      });
}

void SourceList::show_progress() {
  if (scan_state_) section_->set_fact(tr("%n folder(s) searched", nullptr, static_cast<int>(scan_state_->n_folders)));
}

void SourceList::follow_changes(const std::vector<app::LibraryEntry>& entries) {
  if (!isVisible()) return;
  QStringList folders;
  for (const app::WatchedFolder& folder : context_.workbench.library().folders())
    if (folder.is_there) folders.append(QString::fromStdString(folder.path));
  for (const app::LibraryEntry& entry : entries) {
    const QFileInfo file(QString::fromStdString(entry.path));
    folders.append(file.isDir() ? file.filePath() : file.path());
  }
  watch_->watch(std::move(folders));
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
    connect(row, &QAbstractButton::clicked, this, [this, entry] { choose(entry, false); });
    connect(row, &SourceRow::load_asked, this, [this, entry] { choose(entry, true); });
    look_at(entry);
  }
  filter_->setVisible(rows_.size() > kFilterFrom);
  if (filter_->isHidden()) filter_->clear();
  refresh();
}

/// Reads the headers of a model again only if its files, or the memory that the loaded model would give back, have changed.
void SourceList::look_at(const app::LibraryEntry& entry) {
  const std::int64_t returned = context_.load.returned_bytes();
  const auto known = facts_.find(entry.path);
  if (known != facts_.end() && known->second.stamp == entry.stamp && known->second.returned == returned) return;
  context_.background.run(
      this, [path = entry.path, returned] { return app::look_at_model(path, returned); },
      [this, entry, returned](const app::ModelFacts& model) {
        Facts facts = facts_of(model);
        facts.stamp = entry.stamp;
        facts.returned = returned;
        facts_[entry.path] = std::move(facts);
        refresh();
      });
}

void SourceList::choose(const app::LibraryEntry& entry, bool load) {
  context_.background.run(
      this, [&library = context_.workbench.library(), entry] { return library.check_unchanged(entry); },
      [this, entry, load](const engine::Result<void>& unchanged) {
        if (!unchanged) return show_changed(unchanged.error());
        context_.load.choose(entry.path);
        if (load) context_.actions[QStringLiteral("model.load")]->trigger();
      });
}

void SourceList::show_changed(const engine::Error& error) {
  const bool gone = error.code == engine::ErrorCode::not_found;
  message_->set(MessageTone::warning, gone ? tr("The model has disappeared") : tr("The model has changed"),
                QStringLiteral("%1\n%2").arg(QString::fromStdString(error.message), QString::fromStdString(error.where)),
                {{QStringLiteral("scan"), tr("Scan again"), [this] { reload(); }}});
  message_->show();
}

void SourceList::apply_filter() {
  const QStringList words = filter_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
  bool any = false;
  for (SourceRow* row : rows_) {
    const QString text = row->text() + QLatin1Char(' ') + row->accessibleDescription();
    const bool fits = std::all_of(words.begin(), words.end(),
                                  [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
    row->setVisible(fits);
    any = any || fits;
  }
  empty_->setText(rows_.empty() ? tr("No models found. Drop one on the window, or add a folder to search.")
                                : tr("No model matches this filter."));
  empty_->setVisible(!any);
}

void SourceList::refresh() {
  const app::ModelStatus& status = context_.bridge.model_status();
  for (SourceRow* row : rows_) {
    const auto found = facts_.find(row->entry().path);
    const Facts facts = found != facts_.end() ? found->second : Facts{};
    const bool mine = row->entry().path == status.path;
    if (row->entry().path == status.next) row->set_facts(facts.line, ChipState::accent, tr("Checking"));
    else if (mine && status.state == app::ModelState::loading) row->set_facts(facts.line, ChipState::accent, tr("Loading"));
    else if (mine && status.state == app::ModelState::ready) row->set_facts(facts.line, ChipState::success, tr("Loaded"));
    else row->set_facts(facts.line, facts.state, facts.word);
  }
  apply_filter();
}

}  // namespace lathe::ui
