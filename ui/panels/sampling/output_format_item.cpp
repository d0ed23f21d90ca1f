// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/output_format_item.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "engine/api/structured_outputs.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kFormatEditor = 128, kPauseMs = 200;

QString translated_format(const char* text) { return QCoreApplication::translate("OutputFormat", text); }

}  // namespace

OutputFormatItem::OutputFormatItem(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice,
                                   Background& background, QWidget* parent)
    : SamplingItem(parent),
      theme_(theme),
      member_(std::get<engine::TextMember>(field.member)),
      name_(QStringLiteral("sampling.") + name_of(field)),
      choice_(choice),
      background_(background) {
  setObjectName(QStringLiteral("sampling.row.") + name_of(field));
  make_controls(field);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(4));
  auto* head = new QHBoxLayout;
  head->setSpacing(theme.px(8));
  QLabel* label = make_label(theme, name_ + QStringLiteral(".label"), label_of(field), this);
  label->setFixedWidth(theme.px(kSamplingLabel));
  label->setToolTip(tip_of(field));
  label->setBuddy(kind_);
  head->addWidget(label);
  head->addWidget(kind_, 1);
  column->addLayout(head);
  column->addWidget(editor_);
  column->addWidget(result_);
  pause_.setSingleShot(true);
  pause_.setInterval(kPauseMs);
  connect(&pause_, &QTimer::timeout, this, &OutputFormatItem::apply);
  connect(editor_, &QPlainTextEdit::textChanged, this, [this] { pause_.start(); });
  connect(kind_, &QComboBox::activated, this,
          [this](int index) { choose_kind(output_kinds()[static_cast<std::size_t>(index)].kind); });
  show_format(output_format_of(choice_.values().params.*member_));
  check();
}

void OutputFormatItem::make_controls(const engine::SamplingField& field) {
  kind_ = new Quiet<ElidedComboBox>(this);
  kind_->setObjectName(name_);
  kind_->setAccessibleName(label_of(field));
  kind_->setToolTip(tip_of(field));
  for (const OutputKindRow& row : output_kinds()) kind_->addItem(translated_format(row.title));
  editor_ = new QPlainTextEdit(this);
  editor_->setObjectName(name_ + QStringLiteral(".editor"));
  editor_->setFont(theme_.code_font(12));
  editor_->setFixedHeight(theme_.px(kFormatEditor));
  editor_->setTabChangesFocus(true);
  editor_->installEventFilter(this);
  result_ = make_label(theme_, name_ + QStringLiteral(".result"), QString(), this, 12);
  result_->setWordWrap(true);
  result_->setTextFormat(Qt::PlainText);
}

OutputFormat OutputFormatItem::shown() const { return {last_, editor_->toPlainText()}; }

void OutputFormatItem::show_format(const OutputFormat& format) {
  const QSignalBlocker quiet(editor_);
  const OutputKindRow& row = output_kinds()[static_cast<std::size_t>(format.kind)];
  const bool has_text = row.hint[0] != '\0';
  last_ = format.kind;
  kind_->setCurrentIndex(static_cast<int>(format.kind));
  editor_->setPlainText(format.text);
  editor_->setPlaceholderText(QString::fromUtf8(row.hint));
  editor_->setAccessibleName(translated_format(row.title));
  editor_->setVisible(has_text);
  result_->setVisible(has_text);
}

void OutputFormatItem::choose_kind(OutputKind kind) {
  if (kind == last_) return;
  texts_[last_] = editor_->toPlainText();
  show_format({kind, texts_.value(kind)});
  apply();
  if (editor_->isVisible()) editor_->setFocus();
}

void OutputFormatItem::apply() {
  pause_.stop();
  SamplingValues values = choice_.values();
  values.params.*member_ = structured_outputs_of(shown());
  choice_.set_values(values);
  check();
}

void OutputFormatItem::check() {
  const OutputFormat format = shown();
  const std::string constraint = structured_outputs_of(format);
  if (constraint.empty()) {
    mark(std::nullopt);
    result_->setText(tr("Replies are free until there is a text."));
    return result_->set_tone(TextTone::text3);
  }
  background_.run(
      this, [constraint] { return engine::check_structured_outputs(constraint); },
      [this, format](const engine::Result<void>& result) { show_result(format, result); });
}

void OutputFormatItem::show_result(const OutputFormat& checked, const engine::Result<void>& result) {
  if (!(checked == shown())) return;  // a later check follows
  if (result) {
    mark(std::nullopt);
    result_->setText(tr("Valid. The next reply follows it."));
    return result_->set_tone(TextTone::success);
  }
  mark(error_span(result.error(), checked));
  result_->setText(error_text(result.error(), checked));
  result_->set_tone(TextTone::error);
}

void OutputFormatItem::mark(const std::optional<TextSpan>& span) {
  QList<QTextEdit::ExtraSelection> marks;
  if (span) {
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(editor_->document());
    mark.cursor.setPosition(span->begin);
    mark.cursor.setPosition(span->begin + span->length, QTextCursor::KeepAnchor);
    mark.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    mark.format.setUnderlineColor(theme_.tokens().error.text);
    mark.format.setBackground(theme_.tokens().error.tint);
    marks.append(mark);
  }
  editor_->setExtraSelections(marks);
}

/// Applies what was typed when the editor loses the focus, so that a message sent right away follows it.
bool OutputFormatItem::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut && pause_.isActive()) apply();
  return SamplingItem::eventFilter(watched, event);
}

void OutputFormatItem::refresh() {
  const std::string& now = choice_.values().params.*member_;
  if (pause_.isActive() || now == structured_outputs_of(shown())) return;
  show_format(output_format_of(now));
  check();
}

}  // namespace lathe::ui
