// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/live_chart.h"

#include <qcustomplot.h>

#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/theme/digits.h"
#include "ui/widgets/chart_style.h"

namespace lathe::ui {
namespace {

constexpr int kTitleHeight = 22;
constexpr int kLegendHeight = 18;
constexpr int kSample = 18, kSampleGap = 5, kWordGap = 12;
constexpr int kLiveTicks = 3;

QString time_label(double seconds) {
  if (seconds == 0) return LiveChart::tr("now");
  return seconds < 120 ? LiveChart::tr("-%1 s").arg(seconds) : LiveChart::tr("-%1 min").arg(seconds / 60);
}

}  // namespace

LiveChart::LiveChart(const Theme& theme, const QString& name, const QString& title, std::vector<ChartLine> lines,
                     QWidget* parent)
    : QWidget(parent), theme_(theme), title_(title), lines_(std::move(lines)), history_(lines_.size()) {
  setObjectName(name);
  setAccessibleName(title);
  build_plot();
  style();
  connect(&theme_, &Theme::changed, this, &LiveChart::style);
}

void LiveChart::build_plot() {
  plot_ = new QCustomPlot(this);
  plot_->setObjectName(objectName() + ".plot");
  plot_->setNoAntialiasingOnDrag(true);
  plot_->setNotAntialiasedElements(QCP::aeAll);
  plot_->setAttribute(Qt::WA_TransparentForMouseEvents);
  plot_->axisRect()->setAutoMargins(QCP::msNone);
  for (const ChartLine& line : lines_) {
    QCPGraph* graph = plot_->addGraph();
    if (line.steps) graph->setLineStyle(QCPGraph::lsStepLeft);
  }
  limit_line_ = new QCPItemStraightLine(plot_);
  limit_line_->setVisible(false);
  empty_ = new QLabel(this);
  empty_->setObjectName(objectName() + ".empty");
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  empty_->setAttribute(Qt::WA_TransparentForMouseEvents);
  empty_->hide();
}

void LiveChart::set_empty_text(const QString& text) {
  empty_->setText(text);
  empty_->setVisible(history_.empty());
}

void LiveChart::style() {
  const Tokens& tokens = theme_.tokens();
  style_plot(*plot_, theme_);
  plot_->axisRect()->setMargins(QMargins(theme_.px(38), theme_.px(9), theme_.px(14), theme_.px(20)));
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    QCPGraph* graph = plot_->graph(static_cast<int>(i));
    graph->setPen(line_pen(lines_[i].color(tokens), i));
    QColor ground = lines_[i].color(tokens);
    ground.setAlpha(36);
    graph->setBrush(lines_[i].filled ? QBrush(ground) : QBrush(Qt::NoBrush));
  }
  QPen limit(tokens.error.fill, 1.2);
  limit.setDashPattern({4 / 1.2, 3 / 1.2});
  limit_line_->setPen(limit);
  empty_->setFont(theme_.font(12));
  empty_->setStyleSheet(QStringLiteral("color: %1; background: transparent").arg(tokens.text3.name()));
  label_time_axis();
  update();
  if (isVisible()) plot_->replot(QCustomPlot::rpQueuedReplot);
}

void LiveChart::label_time_axis() {
  const double span = seconds_of(span_);
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (const double before : {span, span / 2, 0.0}) ticker->addTick(-before, time_label(before));
  plot_->xAxis->setTicker(ticker);
  plot_->xAxis->setRange(-span, 0);
}

void LiveChart::set_span(Span span) {
  span_ = span;
  label_time_axis();
}

void LiveChart::set_value(const QString& bold, const QString& plain) {
  if (bold == value_ && plain == unit_) return;
  value_ = bold;
  unit_ = plain;
  if (isVisible()) update(0, 0, width(), theme_.px(kTitleHeight));
}

void LiveChart::refresh(double now_s) {
  if (visibleRegion().isEmpty()) return;  // a chart under another tab counts as visible in Qt
  if (!history_.empty()) empty_->hide();
  fill_graphs(now_s);
  describe();
  plot_->replot(QCustomPlot::rpQueuedReplot);
  ++n_replots_;
}

void LiveChart::fill_graphs(double now_s) {
  double top = limit_.value_or(0);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    QVector<double> times;
    QVector<double> values;
    for (const Sample& sample : history_.samples(span_)) {
      const double age = sample.time_s - now_s;
      if (age < -seconds_of(span_) || std::isnan(sample.values[i])) continue;
      times.push_back(age);
      values.push_back(sample.values[i]);
      top = std::max(top, sample.values[i]);
    }
    plot_->graph(static_cast<int>(i))->setData(times, values, true);
  }
  limit_line_->setVisible(limit_.has_value());
  if (limit_) {
    limit_line_->point1->setCoords(-1, *limit_);
    limit_line_->point2->setCoords(0, *limit_);
  }
  scale_value_axis(top);
}

void LiveChart::scale_value_axis(double highest) {
  const bool ends_at_limit = limit_.value_or(0) > 0 && highest <= *limit_;
  const double step = ends_at_limit ? *limit_ / 2 : round_step(highest, kLiveTicks);
  const double end = std::max(step, std::ceil(highest / step - 1e-9) * step);
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  value_ticks_.clear();
  for (double value = 0; value <= end + step / 2; value += step) {
    value_ticks_ << (axis_words_ ? axis_words_(value, step) : axis_number(value, step));
    ticker->addTick(value, value_ticks_.back());
  }
  plot_->yAxis->setTicker(ticker);
  plot_->yAxis->setRange(0, end * 1.06);
}

void LiveChart::describe() {
  QStringList parts;
  const std::vector<Sample>& samples = history_.samples(span_);
  if (samples.empty()) {
    setAccessibleDescription(tr("no data yet"));
    return;
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const double value = samples.back().values[i];
    if (!std::isnan(value)) parts << QStringLiteral("%1 %2").arg(lines_[i].name, QLocale().toString(value, 'g', 4));
  }
  setAccessibleDescription(parts.join(QStringLiteral(", ")));
}

QString LiveChart::csv() const {
  QString out = QStringLiteral("seconds");
  for (const ChartLine& line : lines_) out += QLatin1Char(',') + line.name;
  out += QLatin1Char('\n');
  for (const Sample& sample : history_.samples(span_)) {
    out += QString::number(sample.time_s, 'f', 3);
    for (const double value : sample.values)
      out += QLatin1Char(',') + (std::isnan(value) ? QString() : QString::number(value, 'g', 9));
    out += QLatin1Char('\n');
  }
  return out;
}

QSize LiveChart::minimumSizeHint() const { return {theme_.px(150), theme_.px(120)}; }

void LiveChart::resizeEvent(QResizeEvent*) {
  const int top = theme_.px(kTitleHeight + kLegendHeight);
  plot_->setGeometry(0, top, width(), std::max(0, height() - top));
  empty_->setGeometry(plot_->geometry().adjusted(theme_.px(38), 0, 0, -theme_.px(20)));
}

void LiveChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Tokens& tokens = theme_.tokens();
  painter.fillRect(rect(), tokens.page);
  const QRectF head(0, 0, width() - theme_.px(8), theme_.px(kTitleHeight));
  painter.setPen(tokens.text);
  painter.setFont(theme_.font(12, QFont::DemiBold));
  painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, title_);
  painter.setFont(theme_.font(12));
  painter.setPen(tokens.text2);
  const qreal unit_width = draw_digits(painter, head, Qt::AlignRight | Qt::AlignVCenter, unit_);
  painter.setFont(theme_.font(12, QFont::DemiBold));
  painter.setPen(tokens.text);
  draw_digits(painter, head.adjusted(0, 0, -unit_width - (unit_.isEmpty() ? 0 : theme_.px(4)), 0),
              Qt::AlignRight | Qt::AlignVCenter, value_);

  paint_legend(painter);
}

/// Paints a narrower legend if the normal one does not fit: a line without its name says nothing.
void LiveChart::paint_legend(QPainter& painter) const {
  painter.setFont(theme_.font(11));
  const QFontMetrics metrics = painter.fontMetrics();
  int words = 0;
  for (const ChartLine& line : lines_) words += metrics.horizontalAdvance(line.name);
  const auto n = static_cast<int>(lines_.size());
  const bool tight = words + n * theme_.px(kSample + kSampleGap + kWordGap) - theme_.px(kWordGap) > width();
  const int sample = theme_.px(tight ? kSample - 6 : kSample);
  const int gap = theme_.px(tight ? kSampleGap - 1 : kSampleGap);
  qreal x = 0;
  const qreal middle = theme_.px(kTitleHeight) + theme_.px(kLegendHeight) / 2.0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    painter.setPen(line_pen(lines_[i].color(theme_.tokens()), i));
    painter.drawLine(QPointF(x, middle), QPointF(x + sample, middle));
    painter.setPen(theme_.tokens().text2);
    const QRectF word(x + sample + gap, middle - 9, width(), 18);
    painter.drawText(word, Qt::AlignLeft | Qt::AlignVCenter, lines_[i].name);
    x += sample + gap + metrics.horizontalAdvance(lines_[i].name) + theme_.px(tight ? kWordGap - 5 : kWordGap);
  }
}

}  // namespace lathe::ui
