// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/serve/serve_page.h"

#include <QClipboard>
#include <QDateTime>
#include <QGridLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLocale>
#include <QPainter>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/models/counted.h"
#include "ui/panels/serve/server_settings.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kControlsWidth = 376;
// Width below which the protocols are below the controls: next to them their addresses would be cut off.
constexpr int kWidthSideBySide = 1120;
// A wide page has room for the whole names of the addresses.
constexpr int kWidthWide = 1500, kWideControlsWidth = 470;
constexpr int kServeLabelWidth = 86;
constexpr int kStopGraceMs = 2000;
constexpr int kMaxModelName = 200;

QString state_word(app::ServerState state) {
  switch (state) {
    case app::ServerState::off: return ServePage::tr("Off");
    case app::ServerState::starting: return ServePage::tr("Starting");
    case app::ServerState::running: return ServePage::tr("Running");
    case app::ServerState::stopping: return ServePage::tr("Stopping");
    case app::ServerState::failed: return ServePage::tr("Not running");
  }
  return {};
}

/// Controls in one row: the first at the left, the last at the right, or beside the first when there is no third.
QWidget* in_one_row(QWidget* first, QWidget* second, QWidget* third) {
  auto* box = new QWidget(first->parentWidget());
  box->setObjectName(first->objectName() + ".row");
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(first);
  if (third != nullptr) row->addStretch();
  row->addWidget(second);
  if (third == nullptr) {
    row->addStretch();
  } else {
    row->addWidget(third);
  }
  return box;
}

Panel* make_serve(const PanelContext& context, QWidget* parent) { return new ServePage(context, parent); }

}  // namespace

extern constexpr PanelDescriptor kServePanel{.id = "serve",
                                             .title = QT_TRANSLATE_NOOP("Panels", "Serve"),
                                             .icon = "serve",
                                             .area = PanelArea::page,
                                             .at_first = false,
                                             .make = make_serve};

ServePage::ServePage(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
  setObjectName(QStringLiteral("serve"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_header());
  column->addWidget(make_body(), 1);
  connect_actions();
  connect(&context.bridge, &Bridge::server_changed, this, &ServePage::show_status);
  connect(&context.bridge, &Bridge::model_changed, this, &ServePage::show_status);
  connect(&context.bridge, &Bridge::model_changed, this, &ServePage::start_by_itself);
  context.bridge.watch(this, Interest::server | Interest::model);
  start_pending_ = context.workbench.settings().get("server/autostart").get<bool>();
  read_settings();
  show_status();
}

/// Controls and protocols, which scroll where they are larger than the page.
QWidget* ServePage::make_body() {
  auto* scroll = new QScrollArea(this);
  scroll->setObjectName(QStringLiteral("serve.scroll"));
  scroll->setWidgetResizable(true);
  scroll->setFocusPolicy(Qt::NoFocus);  // the controls in the area take the focus
  auto* contents = new QWidget(scroll);
  contents->setProperty("plane", QStringLiteral("page"));
  contents->setAttribute(Qt::WA_StyledBackground);
  body_ = new QHBoxLayout(contents);
  body_->setContentsMargins(0, 0, 0, 0);
  body_->setSpacing(0);
  body_->addWidget(controls_ = make_controls());
  body_->addWidget(divider_ = make_column(contents));
  auto* right = new QVBoxLayout;
  dialects_ = new DialectRows(context_.theme, contents);
  right->addWidget(dialects_);
  right->addWidget(answer_ = new TestAnswer(context_.theme, contents), 1);
  connect(answer_, &TestAnswer::ended, this, &ServePage::show_status);
  right->addStretch();
  body_->addLayout(right, 1);
  scroll->setWidget(contents);
  return scroll;
}

void ServePage::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  const bool is_wide = width() >= context_.theme.px(kWidthWide);
  controls_->setFixedWidth(context_.theme.px(is_wide ? kWideControlsWidth : kControlsWidth));
  const bool side_by_side = width() >= context_.theme.px(kWidthSideBySide);
  body_->setDirection(side_by_side ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  divider_->setVisible(side_by_side);
}

QWidget* ServePage::make_header() {
  const Theme& theme = context_.theme;
  auto* header = new PageHeader(theme, tr("Server"), this);
  model_ = new Chip(theme, this);
  model_->setObjectName(QStringLiteral("serve.model"));
  model_->set_large(true);
  header->add_left(model_);
  auto* environment = make_button(theme, "serve.environment", tr("Copy environment"), this);
  environment->setIcon(theme.icon(QStringLiteral("copy")));
  connect(environment, &QPushButton::clicked, this, [this] {
    copy(environment_lines(context_.bridge.server_status(), server_options(context_.workbench.settings()).api_key),
         tr("environment"));
  });
  header->add_right(environment);
  test_button_ = make_button(theme, "serve.test", tr("Send test request"), this);
  test_button_->setIcon(theme.icon(QStringLiteral("play")));
  connect(test_button_, &QPushButton::clicked, this, &ServePage::send_test);
  header->add_right(test_button_);
  return header;
}

void ServePage::add_row(QGridLayout* form, int line, const QString& label, QWidget* control, QWidget* more) {
  QLabel* word = make_label(context_.theme, control->objectName() + ".label", label, this);
  // A row of controls is named after its first. A focus proxy would not do: the row is behind its controls in the order of
  // Tab, and would give the focus back to the first.
  word->setBuddy(control->layout() != nullptr ? control->layout()->itemAt(0)->widget() : control);
  control->setAccessibleName(label);
  form->addWidget(word, line, 0);
  form->addWidget(control, line, 1, 1, more == nullptr ? 2 : 1);
  if (more != nullptr) form->addWidget(more, line, 2);
}

QWidget* ServePage::make_controls() {
  const Theme& theme = context_.theme;
  auto* box = new QWidget(this);
  box->setFixedWidth(theme.px(kControlsWidth));
  auto* form = new QGridLayout(box);
  form->setContentsMargins(theme.px(20), theme.px(14), theme.px(20), theme.px(14));
  form->setVerticalSpacing(theme.px(6));
  form->setColumnMinimumWidth(0, theme.px(kServeLabelWidth));
  form->setColumnStretch(1, 1);
  on_ = new Switch(theme, SwitchSize::big, box);
  on_->setObjectName(QStringLiteral("serve.on"));
  on_->setCheckable(true);
  on_->setAccessibleName(tr("Server"));
  auto* words = new QVBoxLayout;
  words->setSpacing(0);
  words->addWidget(state_ = make_label(theme, "serve.state", {}, box, 15, QFont::DemiBold, TextTone::text));
  words->addWidget(facts_ = make_label(theme, "serve.facts", {}, box, 12));
  auto* hint = new Chip(theme, box);
  hint->set(ChipState::quiet, ChipMark::none, QStringLiteral("F6"));
  auto* head = new QHBoxLayout;
  head->setSpacing(theme.px(12));
  head->addWidget(on_, 0, Qt::AlignVCenter);
  head->addLayout(words, 1);
  head->addWidget(hint, 0, Qt::AlignVCenter);
  form->addLayout(head, 0, 0, 1, 3);
  host_ = new Quiet<ElidedComboBox>(box);
  host_->setObjectName(QStringLiteral("serve.host"));
  host_->addItem(tr("127.0.0.1, this computer only"), "127.0.0.1");
  host_->addItem(tr("0.0.0.0, every computer on the network"), "0.0.0.0");
  add_row(form, 1, tr("Address"), host_);
  port_ = new Quiet<QSpinBox>(box);
  port_->setObjectName(QStringLiteral("serve.port"));
  port_->setRange(0, 65535);
  port_->setSpecialValueText(tr("free port"));
  port_->setKeyboardTracking(false);
  port_->setFixedWidth(theme.px(84));
  port_->setAccessibleName(tr("Port"));
  cors_ = new Switch(theme, SwitchSize::normal, box);
  cors_->setObjectName(QStringLiteral("serve.cors"));
  cors_->setCheckable(true);
  cors_->setAccessibleName(tr("CORS"));
  cors_->setToolTip(tr("Let web pages of this computer (http://localhost) use the server"));
  add_row(form, 2, tr("Port"), in_one_row(port_, make_label(theme, "serve.cors.label", tr("CORS"), box), cors_));
  key_ = new KeyField(box);
  key_->setObjectName(QStringLiteral("serve.key"));
  key_->setFont(theme.code_font(12));
  key_->setPlaceholderText(tr("none"));
  key_->setToolTip(tr("Without a key everybody who reaches the address can send requests"));
  add_row(form, 3, tr("API key"), key_, make_key_buttons(box));
  warning_ = make_label(theme, "serve.warning", {}, box, 12, QFont::Normal, TextTone::warning);
  warning_->setWordWrap(true);
  form->addWidget(warning_, 4, 1, 1, 2);
  add_start_rows(box, form);
  return box;
}

void ServePage::add_start_rows(QWidget* box, QGridLayout* form) {
  name_ = new QLineEdit(box);
  name_->setObjectName(QStringLiteral("serve.model_name"));
  name_->setToolTip(tr("Name of the model that clients send"));
  name_->setMaxLength(kMaxModelName);
  add_row(form, 5, tr("Model name"), name_);
  autostart_ = new Switch(context_.theme, SwitchSize::normal, box);
  autostart_->setObjectName(QStringLiteral("serve.autostart"));
  autostart_->setCheckable(true);
  autostart_->setAccessibleName(tr("Start with Lathe"));
  auto* words = make_label(context_.theme, "serve.autostart.words", tr("start with Lathe"), box);
  add_row(form, 6, tr("At start-up"), in_one_row(autostart_, words, nullptr));
  limits_ = make_label(context_.theme, "serve.limits", {}, box, 12);
  form->addWidget(make_label(context_.theme, "serve.limits.label", tr("Limits"), box), 7, 0);
  form->addWidget(limits_, 7, 1, 1, 2);
  form->setRowStretch(8, 1);
}

QWidget* ServePage::make_key_buttons(QWidget* box) {
  auto* keys = new QWidget(box);
  auto* buttons = new QHBoxLayout(keys);
  buttons->setContentsMargins(0, 0, 0, 0);
  buttons->setSpacing(context_.theme.px(2));
  auto* reveal = make_icon_button(context_.theme, "serve.key.reveal", "inspect", tr("Show the key"), keys, 24);
  reveal->setCheckable(true);
  auto* copy_key = make_icon_button(context_.theme, "serve.key.copy", "copy", tr("Copy the key"), keys, 24);
  auto* new_key = make_icon_button(context_.theme, "serve.key.new", "regenerate", tr("Make a new key"), keys, 24);
  buttons->addWidget(reveal);
  buttons->addWidget(copy_key);
  buttons->addWidget(new_key);
  connect(reveal, &QToolButton::toggled, key_, &KeyField::set_revealed);
  connect(key_, &KeyField::key_entered, this, &ServePage::take_key);
  connect(copy_key, &QToolButton::clicked, this,
          [this] { copy(QString::fromStdString(server_options(context_.workbench.settings()).api_key), tr("key")); });
  connect(new_key, &QToolButton::clicked, this, [this] { take_key(new_api_key()); });
  return keys;
}

void ServePage::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), context_.theme.tokens().page); }

void ServePage::connect_actions() {
  app::Settings& settings = context_.workbench.settings();
  context_.actions.on("server.toggle", this, [this] { toggle(); });
  context_.actions.on("server.test", this, [this] { send_test(); });
  context_.actions.on("server.copy_url", this, [this] {
    const app::ServerStatus& status = context_.bridge.server_status();
    if (!status.dialects.empty()) copy(QString::fromStdString(status.dialects.front().base_url), tr("address"));
  });
  context_.actions.on("server.copy_curl", this, [this] {
    const auto dialects = dialects_now();
    if (!dialects.empty()) copy(QString::fromStdString(dialects.front().curl), tr("cURL"));
  });
  connect(on_, &QAbstractButton::clicked, this, &ServePage::toggle);
  connect(host_, &QComboBox::activated, this, [this, &settings](int index) {
    settings.set("server/host", host_->itemData(index).toString().toStdString());
    if (!is_this_computer(host_->itemData(index).toString()) && settings.get("server/api_key").get<std::string>().empty())
      settings.set("server/api_key", new_api_key().toStdString());
    key_trouble_.clear();
    show_key();
    restart_if_running();
  });
  connect(port_, &QSpinBox::valueChanged, this, [this, &settings](int port) {
    settings.set("server/port", port);
    restart_if_running();
  });
  connect(cors_, &QAbstractButton::clicked, this, [this, &settings](bool on) {
    settings.set("server/allowed_origins",
                 on ? engine::Json::array({"http://localhost", "http://127.0.0.1"}) : engine::Json::array());
    restart_if_running();
  });
  connect(name_, &QLineEdit::editingFinished, this, [this, &settings] {
    if (settings.get("server/model_name") == name_->text().toStdString()) return;
    settings.set("server/model_name", name_->text().toStdString());
    restart_if_running();
  });
  connect(autostart_, &QAbstractButton::clicked, this, [&settings](bool on) { settings.set("server/autostart", on); });
  connect(dialects_, &DialectRows::switched, this, &ServePage::switch_dialect);
  connect(dialects_, &DialectRows::curl_wanted, this, [this](const QString& curl) { copy(curl, tr("cURL")); });
  connect(dialects_, &DialectRows::port_wanted, this, [this](int port) {
    port_->setValue(port);
    toggle();
  });
}

void ServePage::read_settings() {
  const app::ServerOptions options = server_options(context_.workbench.settings());
  const QSignalBlocker quiet_port(port_);
  const QString host = QString::fromStdString(options.host);
  if (host_->findData(host) < 0)
    host_->addItem(is_this_computer(host) ? tr("%1, this computer only").arg(host) : tr("%1, the network").arg(host), host);
  host_->setCurrentIndex(host_->findData(host));
  port_->setValue(options.port);
  cors_->setChecked(!options.allowed_origins.empty());
  autostart_->setChecked(context_.workbench.settings().get("server/autostart").get<bool>());
  name_->setText(QString::fromStdString(options.model_name));
  limits_->setText(tr("%1 MiB body, %2 connections").arg(options.limits.body_bytes >> 20).arg(options.limits.connections));
  show_key();
}

/// Checks and saves a key. A key is sent in a header, so it must be one word of ASCII; without a key only this computer may
/// connect.
void ServePage::take_key(const QString& key) {
  app::Settings& settings = context_.workbench.settings();
  const QString host = QString::fromStdString(settings.get("server/host").get<std::string>());
  const bool is_word = std::all_of(key.begin(), key.end(), [](QChar c) { return c > u' ' && c < u'\x7f'; });
  key_trouble_ = !is_word ? tr("A key must be one word of ASCII letters, digits and signs; the old key is kept.")
                 : key.isEmpty() && !is_this_computer(host)
                     ? tr("Every computer that reaches this one may connect, so a key is required; the old key is kept.")
                     : QString();
  if (key_trouble_.isEmpty()) settings.set("server/api_key", key.toStdString());
  show_key();
  if (key_trouble_.isEmpty()) restart_if_running();
}

void ServePage::show_key() {
  const app::ServerOptions options = server_options(context_.workbench.settings());
  key_->set_key(QString::fromStdString(options.api_key));
  const bool reachable = !is_this_computer(QString::fromStdString(options.host));
  warning_->setText(
      !key_trouble_.isEmpty()
          ? key_trouble_
          : tr("Every computer that reaches this one may connect, so a key is required; one was created for you."));
  warning_->setVisible(reachable || !key_trouble_.isEmpty());
}

void ServePage::toggle() {
  app::Server& server = context_.workbench.server();
  const app::ServerState state = server.status().state;
  if (under_way_ || state == app::ServerState::starting || state == app::ServerState::stopping) return;
  const bool stop = state == app::ServerState::running;
  const app::ServerOptions options = server_options(context_.workbench.settings());
  under_way_ = stop ? app::ServerState::stopping : app::ServerState::starting;
  context_.background.run(
      this,
      [&server, stop, options]() -> Restart {
        if (!stop) return {server.start(options), options};
        server.stop(kStopGraceMs);
        return {{}, options};
      },
      [this](Restart done) { take_result(std::move(done)); });
}

void ServePage::restart_if_running() {
  app::Server& server = context_.workbench.server();
  if (under_way_) {
    again_ = true;
    return;
  }
  const app::ServerStatus status = server.status();
  if (status.state != app::ServerState::running) return show_status();
  const app::ServerOptions asked = server_options(context_.workbench.settings());
  app::ServerOptions next = asked, back = running_;
  // A restart with "any free port" keeps the port that clients already know.
  if (next.port == 0 && back.port == 0 && next.host == back.host) next.port = status.port;
  back.port = status.port;
  under_way_ = app::ServerState::starting;
  context_.background.run(
      this,
      [&server, asked, next, back] {
        server.stop(kStopGraceMs);
        Restart done{server.start(next), asked};
        if (!done.result) done.is_back = server.start(back).has_value();
        return done;
      },
      [this](Restart done) { take_result(std::move(done)); });
}

/// Takes the result of a start or restart. After a failed restart the server is back at its old address, and the settings
/// return to it as well.
void ServePage::take_result(Restart done) {
  under_way_.reset();
  trouble_.clear();
  if (done.result) running_ = done.options;
  else context_.workbench.log().error("server", done.result.error().message);
  if (!done.result && done.is_back) {
    context_.workbench.settings().set("server/host", running_.host);
    context_.workbench.settings().set("server/port", running_.port);
    read_settings();
    trouble_ =
        tr("%1. The server stays at %2.")
            .arg(QString::fromStdString(done.result.error().message), authority(context_.workbench.server().status()));
  }
  context_.bridge.refresh();
  show_status();
  if (std::exchange(again_, false)) restart_if_running();
}

void ServePage::start_by_itself() {
  if (!start_pending_ || !context_.bridge.loaded()) return;
  start_pending_ = false;
  if (context_.workbench.server().status().state == app::ServerState::off) toggle();
}

void ServePage::switch_dialect(const QString& name, bool on) {
  engine::Json off = context_.workbench.settings().get("server/dialects_off");
  engine::Json kept = engine::Json::array();
  for (const engine::Json& item : off) {
    if (item != name.toStdString()) kept.push_back(item);
  }
  if (!on) kept.push_back(name.toStdString());
  context_.workbench.settings().set("server/dialects_off", kept);
  restart_if_running();
}

/// The state that is shown. While a start or stop is under way it overrides the server's own state, which may change before
/// the result is taken; a state that is shown as running or off can be switched.
app::ServerState ServePage::state_now() const { return under_way_.value_or(context_.workbench.server().status().state); }

void ServePage::show_status() {
  const app::ServerStatus status = context_.workbench.server().status();
  const app::ServerState state = state_now();
  const bool running = state == app::ServerState::running;
  on_->setChecked(running || state == app::ServerState::starting);
  on_->setEnabled(running || state == app::ServerState::off || state == app::ServerState::failed);
  const auto& loaded = context_.bridge.loaded();
  const bool answers = !running || loaded.has_value();
  const bool loads = context_.bridge.is_loading();
  state_->setText(answers ? state_word(state) : tr("No model"));
  const TextTone trouble = loads ? TextTone::warning : TextTone::error;
  state_->set_tone(answers ? TextTone::text : trouble);
  facts_->set_tone(answers ? TextTone::text2 : trouble);
  const QString own_name = loaded ? QString::fromStdString(loaded->name) : QString();
  const QString model = loaded && !name_->text().isEmpty() ? name_->text() : own_name;
  name_->setPlaceholderText(own_name.isEmpty() ? tr("the model's own") : own_name);
  model_->set(ChipState::quiet, ChipMark::none, loaded ? model : tr("No model loaded"));
  if (!answers) {
    facts_->setText(loads ? tr("Every request is answered 503 until the model is loaded.")
                          : tr("Every request is answered 503. Load a model in the Model dock."));
  } else if (running && !trouble_.isEmpty()) {
    facts_->setText(trouble_);
  } else if (running) {
    facts_->setText(tr("since %1 · %2 · %3")
                        .arg(QDateTime::fromMSecsSinceEpoch(status.since_unix_ms).toString(QStringLiteral("hh:mm")),
                             counted(status.n_requests, tr("request"), tr("requests")),
                             counted(status.n_errors, tr("error"), tr("errors"))));
  } else {
    facts_->setText(state == app::ServerState::failed ? QString::fromStdString(status.error)
                                                      : tr("Turn it on, then copy a cURL line"));
  }
  facts_->setWordWrap(true);
  test_button_->setEnabled(running);
  dialects_->show_dialects(dialects_now(), state, QString::fromStdString(status.error), status.free_port, answers);
}

/// The protocols of the running server, or as they would run: a free port is known only while the server runs.
std::vector<app::DialectState> ServePage::dialects_now() const {
  app::ServerStatus status = context_.workbench.server().status();
  if (status.state == app::ServerState::running) return std::move(status.dialects);
  return app::known_dialects(server_options(context_.workbench.settings()),
                             context_.bridge.loaded() ? model_->word().toStdString() : std::string(),
                             !context_.bridge.loaded() || context_.bridge.loaded()->generates);
}

void ServePage::copy(const QString& text, const QString& what) {
  QGuiApplication::clipboard()->setText(text);
  context_.workbench.log().info("ui", "copied the " + what.toStdString());
}

void ServePage::send_test() {
  const app::ServerStatus status = context_.workbench.server().status();
  if (status.state != app::ServerState::running) return;
  answer_->ask(status, server_options(context_.workbench.settings()).api_key, tr("What is a KV cache?"));
}

}  // namespace lathe::ui
