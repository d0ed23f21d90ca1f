// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/why_list.h"

#include <QLocale>
#include <QPainter>
#include <algorithm>

#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

constexpr int kTimeWidth = 46;  // right edge of the time
constexpr int kThreadX = 60;    // x of the time line with its dots
constexpr int kTextX = 74;
constexpr int kWhyRowHeight = 19;

QColor dot_color(const Tokens& tokens, engine::SchedulerEventKind kind) {
  using engine::SchedulerEventKind;
  switch (kind) {
    case SchedulerEventKind::admitted:
    case SchedulerEventKind::batched:
    case SchedulerEventKind::chunked:
    case SchedulerEventKind::paced: return tokens.prefill;
    case SchedulerEventKind::prefilled:
    case SchedulerEventKind::resumed:
    case SchedulerEventKind::jumped_ahead:
    case SchedulerEventKind::finished: return tokens.decode;
    case SchedulerEventKind::preempted: return tokens.preempted;
    case SchedulerEventKind::failed: return tokens.error.fill;
    default: return tokens.queued;
  }
}

}  // namespace

WhyList::WhyList(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("requests.why"));
  setAccessibleName(tr("Decisions of the scheduler"));
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void WhyList::show_events(std::vector<engine::SchedulerEvent> events, std::int64_t submitted_ns) {
  // Compares the last sequence number, too, because a full list keeps its size: it loses events in its middle and gains one
  // at its end.
  const auto last = [](const std::vector<engine::SchedulerEvent>& list) { return list.empty() ? 0 : list.back().sequence; };
  if (events.size() == events_.size() && last(events) == last(events_) && submitted_ns == submitted_ns_) return;
  events_ = std::move(events);
  submitted_ns_ = submitted_ns;
  setAccessibleDescription(text());
  updateGeometry();
  if (isVisible()) update();
}

std::vector<WhyList::Row> WhyList::rows() const {
  std::vector<Row> rows;
  for (const engine::SchedulerEvent& event : events_) {
    const double seconds = std::max<double>(0, static_cast<double>(event.time_ns - submitted_ns_) * 1e-9);
    rows.push_back({tr("%1 s").arg(QLocale().toString(seconds, 'f', seconds < 10 ? 2 : 1)),
                    QString::fromStdString(engine::word_of(event.kind)), QString::fromStdString(engine::sentence_of(event)),
                    dot_color(theme_.tokens(), event.kind)});
  }
  return rows;
}

QString WhyList::text() const {
  QStringList lines;
  for (const Row& row : rows()) lines << QStringLiteral("%1  %2. %3").arg(row.time, row.word, row.sentence);
  return lines.join(QLatin1Char('\n'));
}

QRect WhyList::sentence_rect(const Row& row, int width) const {
  const QFontMetrics bold(theme_.font(12, QFont::DemiBold));
  const QFontMetrics plain(theme_.font(12));
  const int left = theme_.px(kTextX) + bold.horizontalAdvance(row.word + QLatin1Char('.')) + theme_.px(8);
  const int room = std::max(theme_.px(80), width - left);
  return {left, 0, room, plain.boundingRect(QRect(0, 0, room, 10000), Qt::TextWordWrap, row.sentence).height()};
}

int WhyList::row_height(const Row& row, int width) const {
  return std::max(theme_.px(kWhyRowHeight), sentence_rect(row, width).height() + theme_.px(3));
}

int WhyList::heightForWidth(int width) const {
  int height = 0;
  for (const Row& row : rows()) height += row_height(row, width);
  return height;
}

void WhyList::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const Tokens& tokens = theme_.tokens();
  const std::vector<Row> all = rows();
  const int first_line = theme_.px(kWhyRowHeight);
  const int x = theme_.px(kThreadX);
  painter.setPen(QPen(tokens.border, 1));
  if (all.size() > 1) painter.drawLine(x, first_line / 2, x, height() - row_height(all.back(), width()) + first_line / 2);
  int top = 0;
  for (const Row& row : all) {
    painter.setPen(tokens.text3);
    painter.setFont(theme_.font(11));
    draw_digits(painter, QRectF(0, top, theme_.px(kTimeWidth), first_line), Qt::AlignRight | Qt::AlignVCenter, row.time);
    painter.setPen(Qt::NoPen);
    painter.setBrush(row.dot);
    painter.drawEllipse(QPointF(x, top + first_line / 2.0), theme_.px(10) / 2.0 - 1, theme_.px(10) / 2.0 - 1);
    painter.setPen(tokens.text);
    painter.setFont(theme_.font(12, QFont::DemiBold));
    painter.drawText(QRect(theme_.px(kTextX), top, width(), first_line), Qt::AlignLeft | Qt::AlignVCenter,
                     row.word + QLatin1Char('.'));
    painter.setFont(theme_.font(12));
    painter.setPen(tokens.text2);
    const QRect place = sentence_rect(row, width()).translated(0, top);
    painter.drawText(place.adjusted(0, (first_line - QFontMetrics(theme_.font(12)).height()) / 2, 0, theme_.px(4)),
                     Qt::TextWordWrap, row.sentence);
    top += row_height(row, width());
  }
}

}  // namespace lathe::ui
