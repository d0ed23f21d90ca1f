// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/requests/request_inspector.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QPainter>
#include <QVBoxLayout>
#include <chrono>

#include "ui/models/request_filter.h"

namespace lathe::ui {
namespace {

/// The legend of the four phases, under the bar.
class PhaseLegend : public QWidget {
 public:
  PhaseLegend(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) { setFixedHeight(theme.px(18)); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setFont(theme_.font(11));
    qreal x = 0;
    const std::pair<Phase, QString> entries[] = {{Phase::queued, RequestInspector::tr("queued")},
                                                 {Phase::prefill, RequestInspector::tr("prefill")},
                                                 {Phase::decode, RequestInspector::tr("decode")},
                                                 {Phase::preempted, RequestInspector::tr("preempted")}};
    for (const auto& [phase, word] : entries) {
      paint_phase(painter, theme_, QRectF(x, height() / 2.0 - 4, 8, 8), phase);
      painter.setPen(theme_.tokens().text2);
      painter.drawText(QRectF(x + 12, 0, 200, height()), Qt::AlignLeft | Qt::AlignVCenter, word);
      x += 24 + painter.fontMetrics().horizontalAdvance(word);
    }
  }

 private:
  const Theme& theme_;
};

std::int64_t end_ns(const app::RequestRecord& record) {
  if (record.timings.end_ms > 0 && record.status != app::RequestStatus::queued &&
      record.status != app::RequestStatus::reading && record.status != app::RequestStatus::writing) {
    return record.submitted_ns + static_cast<std::int64_t>(record.timings.end_ms * 1e6);
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

QString row(const QString& name, const QString& value) {
  return QStringLiteral("<tr><td style='padding-right:16px'>%1</td><td align='right'><b>%2</b></td></tr>")
      .arg(name.toHtmlEscaped(), value.toHtmlEscaped());
}

QString ms(double value) {
  return value > 0 ? RequestInspector::tr("%1 ms").arg(QLocale().toString(value, 'f', value < 100 ? 1 : 0))
                   : QStringLiteral("–");
}
QString tokens(std::int64_t n) { return RequestInspector::tr("%1 tok").arg(QLocale().toString(static_cast<qlonglong>(n))); }

}  // namespace

RequestInspector::RequestInspector(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("requests.inspector"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(14), theme.px(8), theme.px(14), theme.px(8));
  column->setSpacing(theme.px(8));
  auto* head = new QHBoxLayout;
  title_ = make_label(theme, "requests.inspector.title", tr("Select a request"), this, 13, QFont::DemiBold, TextTone::text);
  head->addWidget(title_);
  head->addStretch();
  tabs_ = new Segmented(theme, {tr("Why"), tr("Figures")}, this);
  tabs_->setObjectName(QStringLiteral("requests.inspector.tabs"));
  tabs_->setAccessibleName(tr("View of the request"));
  tabs_->set_compact(true);
  tabs_->set_current(0);
  head->addWidget(tabs_);
  column->addLayout(head);
  pages_ = new QStackedWidget(this);
  pages_->addWidget(make_why_page());
  pages_->addWidget(make_figures_page());
  column->addWidget(pages_, 1);
  connect(tabs_, &Segmented::chosen, pages_, &QStackedWidget::setCurrentIndex);
  show_record(nullptr);
}

QWidget* RequestInspector::make_why_page() {
  auto* page = new QWidget(pages_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme_.px(6));
  waterfall_ = new Waterfall(theme_, page);
  column->addWidget(waterfall_);
  auto* legend = new QHBoxLayout;
  legend->addWidget(new PhaseLegend(theme_, page), 1);
  tax_ = make_label(theme_, "requests.inspector.tax", {}, page, 11);
  tax_->setTextFormat(Qt::RichText);
  legend->addWidget(tax_);
  column->addLayout(legend);
  auto* scroll = new QScrollArea(page);
  scroll->setObjectName(QStringLiteral("requests.inspector.scroll"));
  scroll->setAccessibleName(tr("Why"));
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* body = new QWidget(scroll);
  auto* rows = new QVBoxLayout(body);
  rows->setContentsMargins(0, 0, 0, 0);
  error_ = make_label(theme_, "requests.inspector.error", {}, body, 12, QFont::Normal, TextTone::error);
  error_->setWordWrap(true);
  error_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  rows->addWidget(error_);
  why_ = new WhyList(theme_, body);
  rows->addWidget(why_);
  rows->addStretch();
  scroll->setWidget(body);
  // Lets the ground of the page show: setWidget() gives viewport and body a filled ground.
  scroll->viewport()->setAutoFillBackground(false);
  body->setAutoFillBackground(false);
  column->addWidget(scroll, 1);
  return page;
}

QWidget* RequestInspector::make_figures_page() {
  figures_ = make_label(theme_, "requests.inspector.figures", {}, pages_, 12);
  figures_->setTextFormat(Qt::RichText);
  figures_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  figures_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return figures_;
}

void RequestInspector::show_record(const app::RequestRecord* record) {
  pages_->setVisible(record != nullptr);
  tabs_->setVisible(record != nullptr);
  if (record == nullptr) {
    title_->setText(tr("Select a request to see where its time went"));
    return;
  }
  title_->setText(QStringLiteral("#%1").arg(record->number));
  const RequestLife life = life_of(record->why, record->submitted_ns, end_ns(*record));
  waterfall_->setVisible(record->engine_id != 0);
  waterfall_->show_life(life);
  const bool taxed = life.n_lost_tokens > 0;
  tax_->setText(taxed ? tr("Recomputed <b>%1 tok, %2 %</b>")
                            .arg(life.n_lost_tokens)
                            .arg(QLocale().toString(100 * life.recompute_tax(), 'f', 1))
                      : QString());
  error_->setText(QString::fromStdString(record->error));
  error_->setVisible(!record->error.empty());
  why_->show_events(record->why, record->submitted_ns);
  show_figures(*record);
}

void RequestInspector::show_figures(const app::RequestRecord& record) {
  const double rate = decode_rate(record);
  figures_->setText(
      QStringLiteral("<table>") + row(tr("Client"), QString::fromStdString(record.client)) +
      row(tr("Route"), QString::fromStdString(record.route)) + row(tr("Model"), QString::fromStdString(record.model)) +
      row(tr("Prompt"), tokens(record.usage.n_prompt_tokens)) +
      row(tr("From the prefix cache"), tokens(record.usage.n_cached_tokens)) +
      row(tr("Output"), tokens(record.usage.n_completion_tokens)) + row(tr("Queue"), ms(record.timings.queue_ms)) +
      row(tr("Time to first token"), ms(record.timings.ttft_ms)) +
      row(tr("Between tokens, p50"), ms(record.timings.itl_p50_ms)) +
      row(tr("Between tokens, p99"), ms(record.timings.itl_p99_ms)) +
      row(tr("Decode"), rate > 0 ? tr("%1 tok/s").arg(QLocale().toString(rate, 'f', 1)) : QStringLiteral("–")) +
      row(tr("Preemptions"), QString::number(record.timings.n_preemptions)) +
      row(tr("Computed again"), tokens(record.timings.n_recomputed_tokens)) +
      row(tr("Stop"), record.stop.empty() ? QStringLiteral("–") : QString::fromStdString(record.stop)) +
      QStringLiteral("</table>"));
}

void RequestInspector::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), theme_.tokens().page); }

}  // namespace lathe::ui
