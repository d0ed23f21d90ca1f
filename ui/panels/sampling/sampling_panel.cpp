// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingPanel: the Sampling dock: how the tokens of the next reply are drawn. Changes apply to the next request without a
// reload.
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QInputDialog>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>

#include "ui/panels/fold_memory.h"
#include "ui/panels/panel.h"
#include "ui/panels/sampling/sampling_row.h"
#include "ui/panels/sampling/stop_strings.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/quiet_field.h"
#include "ui/widgets/section.h"

namespace lathe::ui {
namespace {

using V = SamplingValues;

constexpr SamplingRowSpec kRandomness[] = {
    {"temperature", QT_TRANSLATE_NOOP("Sampling", "Temperature"),
     QT_TRANSLATE_NOOP("Sampling", "temperature: 0 is greedy, higher values give more varied replies"), 0, 2, 0.05, 2,
     SliderScale::linear, false, false, &V::temperature},
    {"top_k", QT_TRANSLATE_NOOP("Sampling", "Top-k"), QT_TRANSLATE_NOOP("Sampling", "top_k: only the k most likely tokens"),
     1, 200, 1, 0, SliderScale::linear, true, true, &V::top_k},
    {"top_p", QT_TRANSLATE_NOOP("Sampling", "Top-p"),
     QT_TRANSLATE_NOOP("Sampling", "top_p: only the most likely tokens that make up this share"), 0.01, 1, 0.01, 2,
     SliderScale::linear, true, true, &V::top_p},
    {"min_p", QT_TRANSLATE_NOOP("Sampling", "Min-p"),
     QT_TRANSLATE_NOOP("Sampling", "min_p: only tokens with at least this share of the probability of the most likely one"),
     0, 0.5, 0.01, 2, SliderScale::linear, true, true, &V::min_p},
};

constexpr SamplingRowSpec kRepetition[] = {
    {"repetition_penalty", QT_TRANSLATE_NOOP("Sampling", "Repeat penalty"),
     QT_TRANSLATE_NOOP("Sampling", "repetition_penalty: for tokens of the prompt and the reply; 1: off"), 0.5, 2, 0.01, 2,
     SliderScale::linear, true, false, &V::repetition_penalty},
    {"presence_penalty", QT_TRANSLATE_NOOP("Sampling", "Presence"),
     QT_TRANSLATE_NOOP("Sampling", "presence_penalty: subtracted once for each token that was generated"), -2, 2, 0.05, 2,
     SliderScale::linear, true, false, &V::presence_penalty},
    {"frequency_penalty", QT_TRANSLATE_NOOP("Sampling", "Frequency"),
     QT_TRANSLATE_NOOP("Sampling", "frequency_penalty: subtracted for each time a token was generated"), -2, 2, 0.05, 2,
     SliderScale::linear, true, false, &V::frequency_penalty},
};

constexpr SamplingRowSpec kMaxTokens{
    "max_tokens",
    QT_TRANSLATE_NOOP("Sampling", "Max tokens"),
    QT_TRANSLATE_NOOP("Sampling", "max_tokens: longest reply; 0: until the context is full"),
    0,
    8192,
    1,
    0,
    SliderScale::logarithmic,
    false,
    false,
    &V::max_tokens};
constexpr SamplingRowSpec kLogprobs{"logprobs",
                                    QT_TRANSLATE_NOOP("Sampling", "Logprobs"),
                                    QT_TRANSLATE_NOOP("Sampling", "logprobs: alternatives reported for each token"),
                                    0,
                                    20,
                                    1,
                                    0,
                                    SliderScale::linear,
                                    true,
                                    false,
                                    &V::logprobs};

class SamplingPanel final : public Panel {
 public:
  SamplingPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
    const Theme& theme = context.theme;
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    auto* scroll = new QScrollArea(this);
    scroll->setObjectName(QStringLiteral("dock"));
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);  // the controls in the area take the focus
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* contents = new QWidget(scroll);
    contents->setObjectName(QStringLiteral("dockContents"));
    column_ = new QVBoxLayout(contents);
    column_->setContentsMargins(theme.px(14), theme.px(12), theme.px(14), theme.px(14));
    column_->setSpacing(theme.px(10));
    make_presets(contents);
    make_sections(contents);
    column_->addStretch(1);
    scroll->setWidget(contents);
    outer->addWidget(scroll);
    connect(&context.sampling, &SamplingChoice::changed, this, [this] { refresh(); });
    refresh();
  }

 private:
  void make_presets(QWidget* contents) {
    const Theme& theme = context_.theme;
    auto* row = new QHBoxLayout;
    row->setSpacing(theme.px(4));
    presets_ = new Quiet<QComboBox>(contents);
    presets_->setObjectName(QStringLiteral("sampling.preset"));
    presets_->setAccessibleName(tr("Preset"));
    save_ = make_icon_button(theme, QStringLiteral("sampling.save"), QStringLiteral("save"),
                             tr("Save these values as a preset"), contents);
    remove_ = make_icon_button(theme, QStringLiteral("sampling.remove"), QStringLiteral("delete"), tr("Delete this preset"),
                               contents);
    row->addWidget(presets_, 1);
    row->addWidget(save_);
    row->addWidget(remove_);
    column_->addLayout(row);
    connect(presets_, &QComboBox::textActivated, this,
            [this](const QString& name) { context_.sampling.choose_preset(name); });
    connect(remove_, &QToolButton::clicked, this, [this] { context_.sampling.remove_preset(presets_->currentText()); });
    connect(save_, &QToolButton::clicked, this, [this] { ask_preset_name(QString()); });
  }

  void ask_preset_name(const QString& problem) {
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("sampling.save_dialog"));
    dialog->setWindowTitle(tr("Save preset"));
    dialog->setLabelText(problem.isEmpty() ? tr("Name of the preset") : problem);
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& name) {
      const QString wrong = context_.sampling.save_preset(name);
      if (!wrong.isEmpty()) ask_preset_name(wrong);
    });
    dialog->open();
  }

  void make_sections(QWidget* contents) {
    const Theme& theme = context_.theme;
    const auto section = [&](const char* name, const QString& title) {
      auto* made = new Section(theme, QStringLiteral("sampling.section.") + QLatin1String(name), title, contents);
      made->rows()->setSpacing(theme.px(4));
      remember_fold(*made, context_.state);
      column_->addWidget(made);
      return made;
    };
    Section* randomness = section("randomness", tr("Randomness"));
    for (const SamplingRowSpec& spec : kRandomness) add_row(*randomness, spec);
    Section* repetition = section("repetition", tr("Repetition"));
    for (const SamplingRowSpec& spec : kRepetition) add_row(*repetition, spec);
    Section* length = section("length", tr("Length and output"));
    add_row(*length, kMaxTokens);
    make_seed(*length);
    stops_ = new StopStrings(theme, context_.sampling, length);
    length->rows()->addWidget(stops_);
    add_row(*length, kLogprobs);
  }

  void add_row(Section& section, const SamplingRowSpec& spec) {
    rows_.push_back(new SamplingRow(context_.theme, spec, context_.sampling, &section));
    section.rows()->addWidget(rows_.back());
  }

  void make_seed(Section& section) {
    const Theme& theme = context_.theme;
    auto* row = new QHBoxLayout;
    row->setSpacing(theme.px(8));
    QLabel* label = make_label(theme, QStringLiteral("sampling.seed.label"), tr("Seed"), &section);
    label->setFixedWidth(theme.px(94));
    seed_kind_ = new Quiet<QComboBox>(&section);
    seed_kind_->setObjectName(QStringLiteral("sampling.seed.kind"));
    seed_kind_->setAccessibleName(tr("Seed"));
    seed_kind_->setToolTip(tr("seed: the same seed gives the same reply, whatever other requests run"));
    seed_kind_->addItems({tr("Random"), tr("Fixed")});
    label->setBuddy(seed_kind_);
    seed_ = new Quiet<QSpinBox>(&section);
    seed_->setObjectName(QStringLiteral("sampling.seed"));
    seed_->setAccessibleName(tr("Fixed seed"));
    seed_->setRange(0, 2'147'483'647);
    seed_->setKeyboardTracking(false);
    auto* copy =
        make_icon_button(theme, QStringLiteral("sampling.seed.copy"), QStringLiteral("copy"), tr("Copy the seed"), &section);
    row->addWidget(label);
    row->addWidget(seed_kind_, 1);
    row->addWidget(seed_, 1);
    row->addWidget(copy);
    section.rows()->addLayout(row);
    connect(seed_kind_, &QComboBox::activated, this, [this](int kind) {
      SamplingValues values = context_.sampling.values();
      values.fixed_seed = kind == 1;
      context_.sampling.set_values(values);
    });
    connect(seed_, &QSpinBox::valueChanged, this, [this](int seed) {
      SamplingValues values = context_.sampling.values();
      values.seed = static_cast<std::uint64_t>(seed);
      context_.sampling.set_values(values);
    });
    connect(copy, &QToolButton::clicked, this, [this] {
      const SamplingValues& values = context_.sampling.values();
      const std::uint64_t seed = values.fixed_seed ? values.seed : context_.sampling.last_seed().value_or(values.seed);
      QApplication::clipboard()->setText(QString::number(seed));
    });
    copy_seed_ = copy;
  }

  void refresh() {
    const SamplingValues& values = context_.sampling.values();
    const QSignalBlocker quiet_presets(presets_), quiet_kind(seed_kind_), quiet_seed(seed_);
    const QString preset = context_.sampling.preset();
    presets_->clear();
    presets_->addItems(context_.sampling.presets());
    presets_->setCurrentText(preset);
    remove_->setEnabled(context_.sampling.is_own(preset));
    for (SamplingRow* row : rows_) row->refresh();
    stops_->refresh();
    seed_kind_->setCurrentIndex(values.fixed_seed ? 1 : 0);
    seed_->setValue(static_cast<int>(values.seed));
    seed_->setVisible(values.fixed_seed);
    copy_seed_->setEnabled(values.fixed_seed || context_.sampling.last_seed());
    copy_seed_->setToolTip(values.fixed_seed ? tr("Copy the seed") : tr("Copy the seed of the last reply"));
  }

  const PanelContext& context_;
  QVBoxLayout* column_ = nullptr;
  QComboBox* presets_ = nullptr;
  QToolButton *save_ = nullptr, *remove_ = nullptr, *copy_seed_ = nullptr;
  std::vector<SamplingRow*> rows_;
  StopStrings* stops_ = nullptr;
  QComboBox* seed_kind_ = nullptr;
  QSpinBox* seed_ = nullptr;
};

}  // namespace

extern const PanelDescriptor kSamplingPanel;
constexpr PanelDescriptor kSamplingPanel{
    .id = "sampling",
    .title = QT_TRANSLATE_NOOP("Panels", "Sampling"),
    .icon = "sampling",
    .area = PanelArea::right,
    .at_first = true,
    .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new SamplingPanel(context, parent); }};

}  // namespace lathe::ui
