// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingPanel: the Sampling dock: how the tokens of the next reply are drawn. Changes apply to the next request without a
// reload.
#include <QComboBox>
#include <QInputDialog>
#include <QScrollArea>
#include <QSignalBlocker>

#include "ui/panels/panel.h"
#include "ui/panels/sampling/sampling_sections.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

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
    sections_ = new SamplingSections(theme, context.sampling, context.state, context.background, contents);
    column_->addWidget(sections_);
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
    presets_ = new Quiet<ElidedComboBox>(contents);
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

  void refresh() {
    const QSignalBlocker quiet(presets_);
    const QString preset = context_.sampling.preset();
    presets_->clear();
    presets_->addItems(context_.sampling.presets());
    presets_->setCurrentText(preset);
    remove_->setEnabled(context_.sampling.is_own(preset));
    sections_->refresh();
  }

  const PanelContext& context_;
  QVBoxLayout* column_ = nullptr;
  QComboBox* presets_ = nullptr;
  QToolButton *save_ = nullptr, *remove_ = nullptr;
  SamplingSections* sections_ = nullptr;
};

}  // namespace

extern constexpr PanelDescriptor kSamplingPanel{
    .id = "sampling",
    .title = QT_TRANSLATE_NOOP("Panels", "Sampling"),
    .icon = "sampling",
    .area = PanelArea::right,
    .at_first = true,
    .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new SamplingPanel(context, parent); }};

}  // namespace lathe::ui
