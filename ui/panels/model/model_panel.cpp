// SPDX-License-Identifier: GPL-3.0-or-later
// ModelPanel: the Model dock: choose a model, see whether it fits, set how it runs, load it.
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/bridge/system_memory.h"
#include "ui/dialogs/request_question.h"
#include "ui/models/load_choice.h"
#include "ui/models/load_text.h"
#include "ui/panels/model/action_slot.h"
#include "ui/panels/model/model_card.h"
#include "ui/panels/model/model_info.h"
#include "ui/panels/model/option_form.h"
#include "ui/panels/model/source_list.h"
#include "ui/panels/panel.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/fit_bar.h"
#include "ui/widgets/inline_message.h"

namespace lathe::ui {
namespace {

QString what_of(engine::ErrorCode code) {
  switch (code) {
    case engine::ErrorCode::resource_exhausted: return ModelCard::tr("Not enough memory");
    case engine::ErrorCode::model_refused: return ModelCard::tr("This model cannot be used");
    case engine::ErrorCode::not_found: return ModelCard::tr("The model does not exist");
    case engine::ErrorCode::cancelled: return ModelCard::tr("Loading was cancelled");
    case engine::ErrorCode::invalid_argument: return ModelCard::tr("These settings contradict each other");
    case engine::ErrorCode::unsupported: return ModelCard::tr("This model is not supported");
    default: return ModelCard::tr("The model was not loaded");
  }
}

class ModelPanel final : public Panel {
 public:
  ModelPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(0);
    make_scroll(*outer);
    make_bottom(*outer);
    connect(&context.bridge, &Bridge::model_changed, this, [this] { refresh(); });
    connect(&context.load, &LoadChoice::changed, this, [this] {
      load_error_.reset();
      refresh();
    });
    connect(&context.load, &LoadChoice::fit_changed, this, [this] { refresh_bottom(); });
    context.bridge.watch(this, Interest::model);
    connect_actions();
    refresh();
  }

  void came_into_view() override {
    refresh();
    form_->list_devices();
  }

 private:
  void connect_actions() {
    Actions& actions = context_.actions;
    actions.on(QStringLiteral("model.load"), this, [this] { load(); });
    actions.on(QStringLiteral("model.cancel"), this, [this] { context_.workbench.models().cancel_load(); });
    actions.on(QStringLiteral("model.unload"), this, [this] {
      ask_about_running(tr("Unload the model"), tr("Cut them and unload"), [this](app::Ending ending) {
        context_.workbench.models().unload(ending);
        context_.bridge.refresh();
      });
    });
    actions.on(QStringLiteral("model.revert"), this, [this] { context_.load.revert(); });
    actions.on(QStringLiteral("model.defaults"), this, [this] { context_.load.reset_to_defaults(); });
  }

  void make_scroll(QVBoxLayout& outer) {
    const Theme& theme = context_.theme;
    auto* scroll = new QScrollArea(this);
    scroll->setObjectName(QStringLiteral("dock"));
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);  // the controls in the area take the focus
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* contents = new QWidget(scroll);
    contents->setObjectName(QStringLiteral("dockContents"));
    auto* column = new QVBoxLayout(contents);
    column->setContentsMargins(theme.px(14), theme.px(12), theme.px(14), theme.px(12));
    column->setSpacing(theme.px(12));
    sources_ = new SourceList(context_, contents);
    card_ = new ModelCard(context_, contents);
    info_ = new ModelInfoSection(context_, contents);
    form_ = new OptionForm(context_, contents);
    column->addWidget(sources_);
    column->addWidget(card_);
    column->addWidget(info_);
    column->addWidget(form_);
    column->addStretch(1);
    scroll->setWidget(contents);
    outer.addWidget(scroll, 1);
    connect(card_, &ModelCard::other_asked, this, [this] { context_.load.forget(); });
  }

  void make_bottom(QVBoxLayout& outer) {
    const Theme& theme = context_.theme;
    outer.addWidget(make_line(this));
    auto* bottom = new QWidget(this);
    bottom->setObjectName(QStringLiteral("model.bottom"));
    auto* column = new QVBoxLayout(bottom);
    column->setContentsMargins(theme.px(14), theme.px(9), theme.px(14), theme.px(9));
    column->setSpacing(theme.px(9));
    fit_ = new FitBar(theme, bottom);
    message_ = new InlineMessage(theme, QStringLiteral("model.message"), bottom);
    slot_ = new ActionSlot(context_, bottom);
    connect(slot_, &ActionSlot::anyway_wanted, this, [this] { load(false); });
    slot_line_ = make_line(bottom);
    column->addWidget(fit_);
    column->addWidget(message_);
    column->addWidget(slot_line_);
    column->addWidget(slot_);
    message_->hide();
    outer.addWidget(bottom);
  }

  void load(bool check_fit = true) {
    if (context_.load.path().empty()) {
      Q_EMIT context_.navigator.show_panel(QStringLiteral("model"));
      return;
    }
    ask_about_running(tr("Load the model"), tr("Cut them and load"), [this, check_fit](app::Ending ending) {
      const engine::Result<void> started = context_.load.load(check_fit, ending);
      if (!started) load_error_ = started.error();
      refresh();
    });
  }

  /// Asks before requests of the loaded model are ended, unless the user wants no such questions.
  void ask_about_running(const QString& title, const QString& cut, std::function<void(app::Ending)> then) {
    const engine::Json confirm = context_.workbench.settings().get("general/confirm_close");
    const bool asks = context_.navigator.asks() && (!confirm.is_boolean() || confirm.get<bool>());
    const int n = asks ? context_.bridge.n_requests() : 0;
    ask_about_requests({.n_requests = n, .title = title, .cut = cut}, this, std::move(then));
  }

  bool is_loading() const { return context_.bridge.is_loading(); }

  void refresh() {
    const bool chosen = !context_.load.path().empty() && !is_loading();
    sources_->setVisible(!chosen);
    card_->setVisible(chosen);
    form_->setVisible(chosen);
    if (chosen) card_->refresh(), info_->refresh(), form_->refresh();
    else info_->hide(), sources_->refresh();
    refresh_bottom();
  }

  void refresh_bottom() {
    const LoadChoice& load = context_.load;
    const bool any = !load.path().empty();
    if (const auto measured = load.measured()) {
      fit_->set_fit(measured->estimate, load.options().block_size, measured->estimate.max_model_len, measured->use);
    } else if (load.fit()) {
      const bool is_changed = load.is_loaded() && context_.bridge.loaded()->measured;
      fit_->set_fit(*load.fit(), load.options().block_size, load.fit()->max_model_len, {}, is_changed);
    } else {
      const SystemMemory memory = read_system_memory();
      fit_->set_free(memory.available, memory.total, any ? QString() : tr("Settings appear here when a model is chosen."));
    }
    slot_->setVisible(any);
    slot_line_->setVisible(any);
    slot_->refresh();
    refresh_message();
  }

  void refresh_message() {
    const LoadChoice& load = context_.load;
    const app::ModelStatus& status = context_.bridge.model_status();
    if (is_loading() || load.path().empty()) return message_->hide();
    const bool failed_here = status.error && status.failed == load.path();
    if (load.info_error()) show_error(*load.info_error());
    else if (load_error_) show_error(*load_error_);
    else if (load.fit_error()) show_error(*load.fit_error());
    else if (failed_here && status.error->code != engine::ErrorCode::resource_exhausted) show_error(*status.error);
    else if (failed_here || (load.fit() && load.fit()->verdict == engine::FitVerdict::wont_fit))
      show_no_memory(failed_here ? &*status.error : nullptr);
    else message_->hide();
  }

  void show_error(const engine::Error& error) {
    QString numbers = QString::fromStdString(error.message);
    if (!error.where.empty()) numbers += QStringLiteral("\n%1").arg(QString::fromStdString(error.where));
    const bool cancelled = error.code == engine::ErrorCode::cancelled;
    std::vector<InlineMessage::Button> buttons;
    if (context_.load.info_error())
      buttons.push_back({QStringLiteral("again"), tr("Check again"), [this] { context_.load.look_again(); }});
    buttons.push_back({QStringLiteral("other"), tr("Choose another model"), [this] { context_.load.forget(); }, true});
    if (cancelled) numbers.clear();
    add_still_running(numbers);
    message_->set(cancelled ? MessageTone::info : MessageTone::error, what_of(error.code), numbers, std::move(buttons));
    message_->show();
  }

  /// Adds that the model that ran before runs on, if a load failed and left one.
  void add_still_running(QString& numbers) const {
    const app::ModelStatus& status = context_.bridge.model_status();
    if (!status.error || status.failed != context_.load.path() || !context_.bridge.loaded()) return;
    if (!numbers.isEmpty()) numbers += QLatin1Char('\n');
    const QString name = QString::fromStdString(context_.bridge.loaded()->name);
    numbers += status.path == status.failed ? tr("%1 runs on with the settings that it had.").arg(name)
                                            : tr("%1 runs on.").arg(name);
  }

  /// Shows that the memory is too small: the problem, the figures, and the fixes that fit.
  void show_no_memory(const engine::Error* error) {
    const LoadChoice& load = context_.load;
    QString numbers = error != nullptr ? QString::fromStdString(error->message) : QString();
    if (error == nullptr) {
      numbers = tr("Needs %1, %2 free").arg(bytes_text(load.fit()->total()), bytes_text(load.fit()->free));
      if (load.fit()->lacks_host())
        numbers = tr("Needs %1 of the host, %2 free").arg(bytes_text(load.fit()->host), bytes_text(load.fit()->host_free));
      numbers += load.fit()->returned > 0 ? tr(" once the loaded model is released.") : QStringLiteral(".");
    }
    std::vector<InlineMessage::Button> buttons;
    for (const engine::FitFix& fix : load.fixes()) {
      const QString option = QString::fromStdString(fix.option), value = QString::fromStdString(fix.value);
      buttons.push_back({option + QLatin1Char('.') + value,
                         QStringLiteral("%1 (%2)").arg(fix_text(fix), bytes_text(fix.total)),
                         [this, option, value] { context_.load.set_option(option, value); }});
    }
    if (error != nullptr) add_still_running(numbers);
    buttons.push_back({QStringLiteral("anyway"), tr("Load anyway"), [this] { this->load(false); }});
    message_->set(MessageTone::error, what_of(engine::ErrorCode::resource_exhausted), numbers, std::move(buttons));
    message_->show();
  }

  const PanelContext& context_;
  SourceList* sources_ = nullptr;
  ModelCard* card_ = nullptr;
  ModelInfoSection* info_ = nullptr;
  OptionForm* form_ = nullptr;
  FitBar* fit_ = nullptr;
  InlineMessage* message_ = nullptr;
  ActionSlot* slot_ = nullptr;
  QFrame* slot_line_ = nullptr;
  std::optional<engine::Error> load_error_;
};

}  // namespace

extern constexpr PanelDescriptor kModelPanel{
    .id = "model",
    .title = QT_TRANSLATE_NOOP("Panels", "Model"),
    .icon = "model",
    .area = PanelArea::left,
    .at_first = true,
    .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new ModelPanel(context, parent); }};

}  // namespace lathe::ui
