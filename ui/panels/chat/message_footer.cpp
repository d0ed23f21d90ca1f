// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/message_footer.h"

#include <QLocale>
#include <QPainter>

#include "ui/models/durations.h"
#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

constexpr int kFooterHeight = 20, kDotMs = 350;

QString joined(const QStringList& parts) { return parts.join(QStringLiteral(" · ")); }

/// "312 tok · 41.3 tok/s · TTFT 0.42 s · prefill 88 tok (64 cached)"
QStringList numbers_of(const engine::Usage& usage, double tokens_per_second, double ttft_ms) {
  const QLocale locale;
  QStringList parts;
  parts.append(MessageFooter::tr("%1 tok").arg(locale.toString(static_cast<qlonglong>(usage.n_completion_tokens))));
  if (tokens_per_second > 0) parts.append(MessageFooter::tr("%1 tok/s").arg(locale.toString(tokens_per_second, 'f', 1)));
  if (ttft_ms > 0) parts.append(MessageFooter::tr("TTFT %1").arg(duration_text(ttft_ms)));
  if (usage.n_prompt_tokens > 0)
    parts.append(MessageFooter::tr("prefill %1 tok (%2 cached)")
                     .arg(locale.toString(static_cast<qlonglong>(usage.n_prompt_tokens)),
                          locale.toString(static_cast<qlonglong>(usage.n_cached_tokens))));
  return parts;
}

}  // namespace

MessageFooter::MessageFooter(const Theme& theme, bool reduced_motion, QWidget* parent)
    : QWidget(parent), theme_(theme), reduced_motion_(reduced_motion) {
  setObjectName(QStringLiteral("message.footer"));
  why_ = new QToolButton(this);
  why_->setObjectName(QStringLiteral("message.why"));
  why_->setText(tr("Why?"));
  why_->setAccessibleName(tr("Why did it take this time?"));
  why_->setToolTip(tr("Show every decision of the scheduler about this reply"));
  why_->setFont(theme.font(12, QFont::DemiBold));
  why_->setProperty("look", QStringLiteral("link"));
  why_->setFocusPolicy(Qt::TabFocus);
  why_->setCursor(Qt::PointingHandCursor);
  why_->hide();
  connect(why_, &QToolButton::clicked, this, &MessageFooter::why_asked);
  dots_.setInterval(kDotMs);
  connect(&dots_, &QTimer::timeout, this, [this] {
    dot_ = (dot_ + 1) % 3;
    update(0, 0, theme_.px(24), height());
  });
}

QSize MessageFooter::sizeHint() const { return {theme_.px(300), theme_.px(kFooterHeight)}; }

void MessageFooter::show_footer(const ReplyFooter& footer) {
  QStringList parts = footer.usage.n_completion_tokens > 0
                          ? numbers_of(footer.usage, footer.tokens_per_second, footer.ttft_ms)
                          : QStringList();
  if (!footer.stop.isEmpty()) parts.append(tr("stop: %1").arg(footer.stop));
  set(QString(), joined(parts), footer.record != 0);
}

void MessageFooter::show_live(const ChatStream* stream) {
  const QLocale locale;
  if (stream == nullptr) return set(tr("Preparing"), tr("prompt"), false);
  if (stream->phase() == StreamPhase::queued) {
    const auto ahead = stream->active().n_ahead;
    return set(tr("Queued"), ahead > 0 ? tr("%n ahead", nullptr, static_cast<int>(ahead)) : QString(), false);
  }
  if (stream->phase() == StreamPhase::reading) {
    const engine::ActiveRequest& at = stream->active();
    return set(tr("Reading"),
               tr("prompt %1 / %2")
                   .arg(locale.toString(static_cast<qlonglong>(at.n_computed)),
                        locale.toString(static_cast<qlonglong>(at.n_prompt))),
               false);
  }
  set(tr("Writing"), joined(numbers_of(stream->usage(), stream->tokens_per_second(), stream->timings().ttft_ms)), false);
}

void MessageFooter::set(const QString& phase, const QString& words, bool why) {
  if (phase.isEmpty() || reduced_motion_) dots_.stop();
  else if (isVisible() && !dots_.isActive()) dots_.start();
  if (phase == phase_ && words == words_ && why == !why_->isHidden()) return;
  phase_ = phase;
  words_ = words;
  why_->setVisible(why);
  setAccessibleName(this->words());
  place_why();
  update();
}

void MessageFooter::place_why() {
  const int x =
      static_cast<int>(digits_width(QFontMetricsF(theme_.font(12)), words_)) + theme_.px(words_.isEmpty() ? 0 : 10);
  why_->setGeometry(x, 0, why_->sizeHint().width() + theme_.px(8), height());
}

void MessageFooter::resizeEvent(QResizeEvent*) { place_why(); }

void MessageFooter::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!phase_.isEmpty() && !reduced_motion_) dots_.start();
}

void MessageFooter::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  dots_.stop();
}

void MessageFooter::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  qreal x = 0;
  if (!phase_.isEmpty()) {
    const qreal side = theme_.px(5), pitch = theme_.px(8);
    painter.setPen(Qt::NoPen);
    for (int i = 0; i < 3; ++i) {
      const double share = (i - dot_ + 3) % 3 == 0 ? 1.0 : (i - dot_ + 3) % 3 == 1 ? 0.3 : 0.6;
      painter.setBrush(mixed(t.accent, t.page, share));
      painter.drawEllipse(QRectF(x + i * pitch, (height() - side) / 2, side, side));
    }
    x += 3 * pitch + theme_.px(9);
    painter.setFont(theme_.font(12, QFont::DemiBold));
    painter.setPen(t.accent_text);
    x += draw_digits(painter, QRectF(x, 0, width() - x, height()), Qt::AlignLeft | Qt::AlignVCenter, phase_) + theme_.px(9);
  }
  painter.setFont(theme_.font(12));
  painter.setPen(t.text3);
  draw_digits(painter, QRectF(x, 0, width() - x, height()), Qt::AlignLeft | Qt::AlignVCenter, words_);
}

}  // namespace lathe::ui
