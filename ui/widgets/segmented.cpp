// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/segmented.h"

#include <QAbstractButton>
#include <QEvent>
#include <QHBoxLayout>
#include <QPainter>

namespace lathe::ui {
namespace {

class SegmentPart final : public QAbstractButton {
 public:
  SegmentPart(const Theme& theme, const QString& word, QWidget* parent) : QAbstractButton(parent), theme_(theme) {
    setText(word);
    setAccessibleName(word);
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  }
  QSize sizeHint() const override {
    return {QFontMetrics(theme_.font(12, QFont::DemiBold)).horizontalAdvance(text()) + theme_.px(26), theme_.px(24)};
  }
  QSize minimumSizeHint() const override {
    return {QFontMetrics(theme_.font(12, QFont::DemiBold)).horizontalAdvance(text()) + theme_.px(10), theme_.px(20)};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Tokens& t = theme_.tokens();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    if (isChecked() || hasFocus()) {
      painter.setPen(QPen(hasFocus() ? t.focus : t.strong, 1));
      painter.setBrush(isChecked() ? t.raised : Qt::transparent);
      painter.drawRoundedRect(box, theme_.px(5), theme_.px(5));
    }
    painter.setFont(theme_.font(12, isChecked() ? QFont::DemiBold : QFont::Medium));
    painter.setPen(!isEnabled() ? isChecked() ? t.text3 : t.disabled : isChecked() || underMouse() ? t.text : t.text2);
    painter.drawText(rect(), Qt::AlignCenter, text());
  }

 private:
  const Theme& theme_;
};

}  // namespace

Segmented::Segmented(const Theme& theme, const QStringList& words, QWidget* parent)
    : QWidget(parent), theme_(theme), group_(this) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(2, 2, 2, 2);
  row->setSpacing(0);
  for (int i = 0; i < words.size(); ++i) {
    auto* part = new SegmentPart(theme, words[i], this);
    group_.addButton(part, i);
    row->addWidget(part);
  }
  if (!words.isEmpty()) group_.button(0)->setChecked(true);
  setFixedHeight(theme.px(28));
  connect(&group_, &QButtonGroup::idClicked, this, &Segmented::chosen);
  connect(this, &QObject::objectNameChanged, this, [this](const QString& name) {
    for (QAbstractButton* part : group_.buttons())
      part->setObjectName(QStringLiteral("%1.%2").arg(name).arg(group_.id(part)));
  });
}

void Segmented::set_current(int index) {
  if (QAbstractButton* part = group_.button(index)) part->setChecked(true);
}

void Segmented::set_part_enabled(int index, bool enabled, const QString& why) {
  if (QAbstractButton* part = group_.button(index)) {
    part->setEnabled(enabled);
    part->setToolTip(why);
  }
}

void Segmented::set_compact(bool compact) { setFixedHeight(theme_.px(compact ? 24 : 28)); }

bool Segmented::event(QEvent* event) {
  if (event->type() == QEvent::EnabledChange) update();
  return QWidget::event(event);
}

void Segmented::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(t.dark ? t.chrome : t.hover);
  painter.drawRoundedRect(rect(), theme_.px(6), theme_.px(6));
}

}  // namespace lathe::ui
