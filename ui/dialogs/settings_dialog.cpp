// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/settings_dialog.h"

#include <QDesktopServices>
#include <QFileDialog>
#include <QHBoxLayout>

#include "ui/widgets/controls.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/segmented.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {
namespace {

const QStringList kThemes{QStringLiteral("light"), QStringLiteral("dark"), QStringLiteral("system")};
constexpr int kSettingsLabel = 104;

bool is_on(app::Settings& settings, const char* key) {
  const engine::Json value = settings.get(key);
  return value.is_boolean() && value.get<bool>();
}

QString setting_text(app::Settings& settings, const char* key) {
  const engine::Json value = settings.get(key);
  return value.is_string() ? QString::fromStdString(value.get<std::string>()) : QString();
}

}  // namespace

void SettingsDialog::open_over(QWidget* window, const PanelContext& context) {
  auto* dialog = window->findChild<SettingsDialog*>(QStringLiteral("settings_dialog"));
  if (dialog == nullptr) dialog = new SettingsDialog(window, context);
  dialog->show();
  dialog->raise();
  dialog->activateWindow();
}

SettingsDialog::SettingsDialog(QWidget* parent, const PanelContext& context) : QDialog(parent), context_(context) {
  setAttribute(Qt::WA_DeleteOnClose);
  setObjectName(QStringLiteral("settings_dialog"));
  setWindowTitle(tr("Settings"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(20), theme.px(16), theme.px(20), theme.px(16));
  column->setSpacing(theme.px(6));
  add_appearance(*column);
  add_switches(*column);
  add_folders(*column);
  add_data(*column);
  QPushButton* close = make_button(theme, QStringLiteral("settings.close"), tr("Close"), this);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  column->addWidget(close, 0, Qt::AlignRight);
  resize(theme.px(520), theme.px(600));
}

void SettingsDialog::add_appearance(QVBoxLayout& column) {
  const Theme& theme = context_.theme;
  column.addWidget(
      make_label(theme, QStringLiteral("settings.appearance"), tr("Appearance"), this, 14, QFont::DemiBold, TextTone::text));
  auto* row = new QHBoxLayout;
  QLabel* label = make_label(theme, QStringLiteral("settings.theme.label"), tr("Theme"), this);
  label->setFixedWidth(theme.px(kSettingsLabel));
  auto* choice = new Segmented(theme, {tr("Light"), tr("Dark"), tr("System")}, this);
  choice->setObjectName(QStringLiteral("settings.theme"));
  choice->setAccessibleName(tr("Theme"));
  choice->set_current(static_cast<int>(
      std::max<qsizetype>(0, kThemes.indexOf(setting_text(context_.workbench.settings(), "appearance/theme")))));
  connect(choice, &Segmented::chosen, this, [this](int index) {
    context_.workbench.settings().set("appearance/theme", kThemes[index].toStdString());
    apply_theme();
  });
  row->addWidget(label);
  row->addWidget(choice);
  row->addStretch(1);
  column.addLayout(row);
  add_switch(column, "appearance/strong_outlines", tr("Strong outlines of fields"));
  add_switch(column, "appearance/reduced_motion", tr("Reduced motion"));
}

void SettingsDialog::add_switches(QVBoxLayout& column) {
  column.addSpacing(context_.theme.px(10));
  column.addWidget(make_label(context_.theme, QStringLiteral("settings.chat"), tr("Chat and start"), this, 14,
                              QFont::DemiBold, TextTone::text));
  add_switch(column, "chat/enter_sends", tr("Enter sends, Shift+Enter starts a new line"));
  add_switch(column, "chat/render_markdown", tr("Show replies formatted"));
  add_switch(column, "general/load_at_start", tr("Load the last model when Lathe opens"));
  add_switch(column, "general/confirm_close", tr("Ask before running requests, a sweep or the server are ended"));
}

Switch* SettingsDialog::add_switch(QVBoxLayout& column, const char* key, const QString& words) {
  const Theme& theme = context_.theme;
  auto* row = new QHBoxLayout;
  auto* toggle = new Switch(theme, SwitchSize::normal, this);
  toggle->setObjectName(QStringLiteral("settings.") + QLatin1String(key));
  toggle->setAccessibleName(words);
  toggle->setChecked(is_on(context_.workbench.settings(), key));
  QLabel* label = make_label(theme, QStringLiteral("settings.%1.label").arg(QLatin1String(key)), words, this);
  label->setBuddy(toggle);
  connect(toggle, &Switch::toggled, this, [this, key](bool on) {
    context_.workbench.settings().set(key, on);
    apply_theme();
  });
  row->addWidget(toggle);
  row->addWidget(label);
  row->addStretch(1);
  column.addLayout(row);
  return toggle;
}

void SettingsDialog::apply_theme() {
  app::Settings& settings = context_.workbench.settings();
  context_.theme.choose(theme_choice(setting_text(settings, "appearance/theme")),
                        is_on(settings, "appearance/strong_outlines"));
}

void SettingsDialog::add_folders(QVBoxLayout& column) {
  const Theme& theme = context_.theme;
  column.addSpacing(theme.px(10));
  column.addWidget(make_label(theme, QStringLiteral("settings.folders.title"), tr("Model folders"), this, 14,
                              QFont::DemiBold, TextTone::text));
  Switch* standard =
      add_switch(column, "library/standard_folders", tr("Search the folders of the Hugging Face hub, LM Studio and ollama"));
  connect(standard, &Switch::toggled, this, [this] { Q_EMIT context_.navigator.folders_changed(); });
  list_ = new QListWidget(this);
  list_->setObjectName(QStringLiteral("settings.folders"));
  list_->setAccessibleName(tr("Folders that are searched for models"));
  list_->setFrameShape(QFrame::StyledPanel);
  column.addWidget(list_, 1);
  auto* row = new QHBoxLayout;
  QPushButton* add =
      make_button(theme, QStringLiteral("settings.folders.add"), tr("Add folder…"), this, ButtonLook::plain, true);
  QPushButton* remove =
      make_button(theme, QStringLiteral("settings.folders.remove"), tr("Remove"), this, ButtonLook::plain, true);
  connect(add, &QPushButton::clicked, this, [this] {
    const QString folder = QFileDialog::getExistingDirectory(this, tr("A folder with models"));
    if (!folder.isEmpty() && !folders().contains(folder)) keep_folders(folders() << folder);
  });
  connect(remove, &QPushButton::clicked, this, [this] {
    QStringList left = folders();
    if (const int current = list_->currentRow(); current >= 0) left.removeAt(current);
    keep_folders(left);
  });
  row->addWidget(add);
  row->addWidget(remove);
  row->addStretch(1);
  column.addLayout(row);
  fill_folders();
}

QStringList SettingsDialog::folders() const {
  QStringList found;
  const engine::Json value = context_.workbench.settings().get("library/folders");
  if (value.is_array())
    for (const engine::Json& one : value)
      if (one.is_string()) found.append(QString::fromStdString(one.get<std::string>()));
  return found;
}

void SettingsDialog::keep_folders(const QStringList& folders) {
  engine::Json value = engine::Json::array();
  for (const QString& one : folders) value.push_back(one.toStdString());
  context_.workbench.settings().set("library/folders", value);
  fill_folders();
  Q_EMIT context_.navigator.folders_changed();
}

void SettingsDialog::add_data(QVBoxLayout& column) {
  const Theme& theme = context_.theme;
  column.addSpacing(theme.px(10));
  column.addWidget(
      make_label(theme, QStringLiteral("settings.data.title"), tr("Your data"), this, 14, QFont::DemiBold, TextTone::text));
  const QString folder = QString::fromStdString(context_.workbench.paths().data);
  auto* row = new QHBoxLayout;
  auto* path = new ElidedLabel(theme, QStringLiteral("settings.data"), this, 12);
  path->setText(tr("Chats, requests and sweeps are in %1").arg(folder));
  QPushButton* open =
      make_button(theme, QStringLiteral("settings.data.open"), tr("Open the folder"), this, ButtonLook::plain, true);
  connect(open, &QPushButton::clicked, this, [folder] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder)); });
  row->addWidget(path, 1);
  row->addWidget(open);
  column.addLayout(row);
  column.addWidget(make_label(theme, QStringLiteral("settings.data.privacy"),
                              tr("Lathe sends nothing anywhere unless you start the server or open a link."), this, 12));
}

void SettingsDialog::fill_folders() {
  list_->clear();
  list_->addItems(folders());
}

}  // namespace lathe::ui
