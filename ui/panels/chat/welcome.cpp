// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/welcome.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QVBoxLayout>

#include "ui/models/load_choice.h"
#include "ui/models/load_text.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kWelcomeColumn = 680;

struct Sample {
  const char* name;
  const char* text;
  const char* place;
  const char* panel;  ///< "": the prompt goes to the composer
};

constexpr Sample kSamples[] = {
    {"kv", QT_TRANSLATE_NOOP("Welcome", "Explain how a paged KV cache saves memory"), QT_TRANSLATE_NOOP("Welcome", "Chat"),
     ""},
    {"server", QT_TRANSLATE_NOOP("Welcome", "Start the server and copy a curl command"),
     QT_TRANSLATE_NOOP("Welcome", "Serve"), "serve"},
    {"batching", QT_TRANSLATE_NOOP("Welcome", "What is continuous batching and why is it fast?"),
     QT_TRANSLATE_NOOP("Welcome", "Chat"), ""},
};

bool panel_exists(const char* id) {
  for (const PanelDescriptor* panel : panel_table())
    if (qstrcmp(panel->id, id) == 0) return true;
  return false;
}

}  // namespace

SampleCard::SampleCard(const Theme& theme, const QString& name, const QString& text, const QString& place, QWidget* parent)
    : QAbstractButton(parent), theme_(theme), place_(place) {
  setObjectName(name);
  setText(text);
  setAccessibleName(text);
  setFocusPolicy(Qt::TabFocus);
  setCursor(Qt::PointingHandCursor);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize SampleCard::sizeHint() const { return {theme_.px(216), theme_.px(84)}; }

void SampleCard::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(hasFocus() ? t.focus : t.border, 1));
  painter.setBrush(underMouse() ? t.sunken : t.page);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(8), theme_.px(8));
  const QRect box = rect().adjusted(theme_.px(14), theme_.px(11), -theme_.px(10), -theme_.px(9));
  painter.setFont(theme_.font(13, QFont::Medium));
  painter.setPen(t.text);
  painter.drawText(box, Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap, text());
  painter.setFont(theme_.font(12));
  painter.setPen(t.text3);
  painter.drawText(box, Qt::AlignBottom | Qt::AlignLeft, place_);
}

Welcome::Welcome(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("welcome"));
  const Theme& theme = context.theme;
  auto* outer = new QHBoxLayout(this);
  outer->setContentsMargins(theme.px(20), 0, theme.px(20), 0);
  column_ = new QWidget(this);
  column_->setMaximumWidth(theme.px(kWelcomeColumn));
  outer->addStretch(1);
  outer->addWidget(column_, 1000);
  outer->addStretch(1);
  auto* column = new QVBoxLayout(column_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(6));
  column->addStretch(3);
  column->addWidget(make_label(theme, QStringLiteral("welcome.title"), tr("Welcome to Lathe"), column_, 24, QFont::DemiBold,
                               TextTone::text));
  state_ = make_label(theme, QStringLiteral("welcome.state"), QString(), column_, 14);
  state_->setWordWrap(true);
  column->addWidget(state_);
  column->addSpacing(theme.px(10));
  loading_ = new LoadingCard(context, column_);
  notice_ = new InlineMessage(theme, QStringLiteral("welcome.notice"), column_);
  column->addWidget(loading_);
  column->addWidget(notice_);
  column->addSpacing(theme.px(12));
  make_samples();
  column->addStretch(5);
  connect(&context.bridge, &Bridge::model_changed, this, &Welcome::refresh);
  connect(&context.load, &LoadChoice::changed, this, &Welcome::refresh);
  refresh();
}

void Welcome::make_samples() {
  const Theme& theme = context_.theme;
  auto* column = static_cast<QVBoxLayout*>(column_->layout());
  samples_title_ = make_label(theme, QStringLiteral("welcome.samples"), QString(), column_, 12, QFont::DemiBold);
  column->addWidget(samples_title_);
  auto* row = new QHBoxLayout;
  row->setSpacing(theme.px(12));
  for (const Sample& sample : kSamples) {
    if (*sample.panel != '\0' && !panel_exists(sample.panel)) continue;
    auto* card = new SampleCard(theme, QStringLiteral("welcome.sample.") + QLatin1String(sample.name), tr(sample.text),
                                tr(sample.place), column_);
    row->addWidget(card);
    connect(card, &QAbstractButton::clicked, this, [this, &sample] {
      if (*sample.panel != '\0') Q_EMIT context_.navigator.show_panel(QLatin1String(sample.panel));
      else Q_EMIT prompt_chosen(tr(sample.text));
    });
  }
  column->addLayout(row);
  column->addSpacing(theme.px(8));
  auto* privacy = new QHBoxLayout;
  auto* lock = make_label(theme, QStringLiteral("welcome.lock"), QString(), column_);
  lock->setPixmap(theme.icon(QStringLiteral("lock"), IconTone::quiet).pixmap(theme.px(16), theme.px(16)));
  connect(&theme, &Theme::changed, lock, [this, lock] {
    lock->setPixmap(
        context_.theme.icon(QStringLiteral("lock"), IconTone::quiet).pixmap(context_.theme.px(16), context_.theme.px(16)));
  });
  QLabel* words =
      make_label(theme, QStringLiteral("welcome.privacy"),
                 tr("Runs on this computer. Nothing is sent anywhere unless you start the server or open a link."), column_,
                 12, QFont::Normal, TextTone::text3);
  words->setWordWrap(true);
  privacy->addWidget(lock, 0, Qt::AlignTop);
  privacy->addWidget(words, 1);
  column->addLayout(privacy);
}

void Welcome::refresh() {
  if (!isVisible()) return;
  const app::ModelState state = context_.bridge.model_status().state;
  const bool ready = state == app::ModelState::ready, loading = state == app::ModelState::loading;
  loading_->setVisible(loading);
  if (loading) loading_->refresh();
  QString words = tr("Load a model, chat with it, serve it, and see why every token took the time it took.");
  if (ready && context_.bridge.loaded()) {
    const engine::LoadedModel& model = *context_.bridge.loaded();
    words = model.info.is_demo ? tr("The bundled demo model is ready: %1 parameters, made for questions about serving "
                                    "language models. It says so when it does not know an answer.")
                                     .arg(count_text(model.info.n_parameters))
                               : tr("%1 is ready.").arg(QString::fromStdString(model.name));
  }
  state_->setText(words);
  const bool only_completes = context_.bridge.lacks_template();
  samples_title_->setVisible(!only_completes);
  for (SampleCard* card : column_->findChildren<SampleCard*>())
    card->setVisible(!only_completes || card->objectName() == QLatin1String("welcome.sample.server"));
  samples_title_->setText(ready ? tr("Try one of these") : tr("Try one of these when it is ready"));
  refresh_notice();
}

void Welcome::refresh_notice() {
  const app::ModelStatus& status = context_.bridge.model_status();
  const std::string demo = context_.workbench.library().demo_model();
  std::vector<InlineMessage::Button> buttons;
  const auto open = [this] { context_.actions[QStringLiteral("model.open")]->trigger(); };
  const auto load_demo = [this, demo] {
    context_.load.choose(demo);
    static_cast<void>(context_.load.load());
  };
  if (status.state == app::ModelState::failed && status.error) {
    buttons.push_back({QStringLiteral("dock"), tr("Show in the Model dock"),
                       [this] { Q_EMIT context_.navigator.show_panel(QStringLiteral("model")); }});
    if (!demo.empty() && status.path != demo)
      buttons.push_back({QStringLiteral("demo"), tr("Load the demo model"), load_demo});
    const bool cancelled = status.error->code == engine::ErrorCode::cancelled;
    notice_->set(cancelled ? MessageTone::info : MessageTone::error,
                 cancelled ? tr("Loading was cancelled") : tr("The model was not loaded"),
                 QString::fromStdString(status.error->message), std::move(buttons));
  } else if (status.state == app::ModelState::none) {
    if (!demo.empty()) buttons.push_back({QStringLiteral("demo"), tr("Load the demo model"), load_demo});
    buttons.push_back({QStringLiteral("open"), tr("Open a model…"), open});
    notice_->set(MessageTone::info, tr("No model loaded"), tr("Drop the folder of a checkpoint on the window, or open one."),
                 std::move(buttons));
  }
  const bool only_completes = context_.bridge.lacks_template();
  if (only_completes) {
    buttons.push_back({QStringLiteral("serve"), tr("Show the Serve page"),
                       [this] { Q_EMIT context_.navigator.show_panel(QStringLiteral("serve")); }});
    const std::string& error = context_.bridge.loaded()->chat_template_error;
    const QString why = error.empty() ? tr("Its checkpoint has no chat template")
                                      : tr("Its chat template cannot be used (%1)").arg(QString::fromStdString(error));
    if (context_.bridge.completes())
      notice_->set(MessageTone::info, tr("This model completes text"),
                   why + tr(", so the format of messages for it is unknown. What you write below goes to the model as it "
                            "is, and the model continues it; the server does the same on /v1/completions."),
                   std::move(buttons));
    else
      notice_->set(MessageTone::info, tr("This model cannot chat"),
                   tr("It converts texts to vectors: turn on the server and use /v1/embeddings, or run lathe embed."),
                   std::move(buttons));
  }
  notice_->setVisible(only_completes || status.state == app::ModelState::none || status.state == app::ModelState::failed);
}

void Welcome::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

}  // namespace lathe::ui
