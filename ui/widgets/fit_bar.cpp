// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/fit_bar.h"

#include <QCoreApplication>
#include <QLocale>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/theme/digits.h"
#include "ui/widgets/hatch.h"

namespace lathe::ui {
namespace {

constexpr int kBarTop = 27, kFitBar = 10, kLegendTop = 45, kLegendRow = 18, kFitHeight = 104, kMoreRow = 16,
              kFreeHeight = 66;
// Layout of the measured memory: a thin bar under the bar of the estimate, and a table with a row for each part, between a
// heading and the sum.
constexpr int kThinTop = 40, kThin = 4, kTableTop = 48, kTableRow = 17, kTableRows = 6;
constexpr double kFitGap = 1.5;

/// The one unit of all figures, so that they can be added up by eye.
struct Scale {
  double unit;
  const char* name;
};
Scale scale_of(double bytes) {
  if (bytes >= 0.95 * (1 << 30)) return {1 << 30, "GiB"};
  return {1 << 20, "MiB"};
}

QString number_at(double bytes, const Scale& scale) {
  const double value = bytes / scale.unit;
  const bool is_small = value > 0 && value < 0.095;  // one digit would show several parts as 0.0
  return QLocale().toString(value, 'f', value >= 99.95 ? 0 : is_small ? 2 : 1);
}

/// "+3.4", "−12.0", and "0.0" without a sign.
QString signed_number(double bytes, const Scale& scale) {
  const QString digits = number_at(std::abs(bytes), scale);
  if (digits == number_at(0, scale)) return digits;
  return (bytes < 0 ? QStringLiteral("−") : QStringLiteral("+")) + digits;
}

struct BarPart {
  QColor color;
  const char* word;
  std::int64_t bytes;
};

std::array<BarPart, 4> parts_of(const Tokens& t, const engine::FitEstimate& fit) {
  return {{{t.series[0], QT_TRANSLATE_NOOP("FitBar", "Weights"), fit.weights},
           {t.series[2], QT_TRANSLATE_NOOP("FitBar", "KV"), fit.kv},
           {t.series[4], QT_TRANSLATE_NOOP("FitBar", "Activations"), fit.activations},
           {t.text3, QT_TRANSLATE_NOOP("FitBar", "Other"), fit.other}}};
}

/// Text about the memory of the host that a load on a device takes.
QString host_text(const engine::FitEstimate& fit) {
  const Scale scale = scale_of(static_cast<double>(std::max(fit.host, fit.host_free)));
  return FitBar::tr("Host: %1 of %2 %3 free")
      .arg(number_at(static_cast<double>(fit.host), scale), number_at(static_cast<double>(fit.host_free), scale),
           QLatin1String(scale.name));
}

/// Text about the part of the KV cache that the states of recurrent layers and their snapshots take.
QString states_text(const engine::FitEstimate& fit) {
  const Scale scale = scale_of(static_cast<double>(fit.states + fit.snapshots));
  const QString states = number_at(static_cast<double>(fit.states), scale);
  if (fit.n_snapshots == 0) return FitBar::tr("KV has states: %1 %2").arg(states, QLatin1String(scale.name));
  return FitBar::tr("KV has states: %1, %2 snapshots: %3 %4")
      .arg(states, QLocale().toString(static_cast<qlonglong>(fit.n_snapshots)),
           number_at(static_cast<double>(fit.snapshots), scale), QLatin1String(scale.name));
}

std::array<std::int64_t, 4> memory_numbers(const engine::MemoryUse& use) {
  return {use.weights, use.kv, use.activations, use.other};
}

}  // namespace

ChipState chip_state(engine::FitVerdict verdict) {
  switch (verdict) {
    case engine::FitVerdict::fits: return ChipState::success;
    case engine::FitVerdict::tight: return ChipState::warning;
    case engine::FitVerdict::wont_fit: return ChipState::error;
    case engine::FitVerdict::unknown: break;
  }
  return ChipState::quiet;
}

QString verdict_word(engine::FitVerdict verdict) {
  switch (verdict) {
    case engine::FitVerdict::fits: return FitBar::tr("Fits");
    case engine::FitVerdict::tight: return FitBar::tr("Tight");
    case engine::FitVerdict::wont_fit: return FitBar::tr("Won't fit");
    case engine::FitVerdict::unknown: break;
  }
  return FitBar::tr("Unknown");
}

FitBar::FitBar(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme), chip_(new Chip(theme, this)) {
  setObjectName(QStringLiteral("fit_bar"));
  chip_->setObjectName(QStringLiteral("fit_bar.verdict"));
  chip_->hide();
  setFixedHeight(theme.px(kFreeHeight));
}

int FitBar::fit_height() const {
  return (measured_ || keeps_height_ ? kTableTop + kTableRows * kTableRow + 22 : kFitHeight) +
         static_cast<int>(more_.size()) * kMoreRow;
}

QSize FitBar::sizeHint() const { return {theme_.px(270), theme_.px(fit_ ? fit_height() : kFreeHeight)}; }

void FitBar::set_fit(const engine::FitEstimate& fit, std::int64_t block_size, std::int64_t max_model_len,
                     const std::optional<engine::MemoryUse>& measured, bool keeps_height) {
  fit_ = fit;
  keeps_height_ = keeps_height;
  measured_ = measured;
  setToolTip(!measured ? QString()
                       : tr("Measured: pages of this program that were in memory after the first step; files are not "
                            "counted.\nThe KV cache takes its pages as requests fill them. Other includes the tokenizer, "
                            "threads and\nthe memory that the window used in the meantime."));
  const QLocale locale;
  const std::int64_t tokens = fit.n_blocks * block_size;
  meaning_ =
      tr("%1 blocks = %2 tokens")
          .arg(locale.toString(static_cast<qlonglong>(fit.n_blocks)), locale.toString(static_cast<qlonglong>(tokens)));
  const std::int64_t length = max_model_len > 0 ? max_model_len : fit.max_model_len;
  if (length > 0 && tokens >= length)
    meaning_ = tr("%1 = %2 × %3")
                   .arg(meaning_, locale.toString(static_cast<qlonglong>(tokens / length)),
                        locale.toString(static_cast<qlonglong>(length)));
  more_.clear();
  if (fit.states > 0) more_ << states_text(fit);
  if (fit.host > 0) more_ << host_text(fit);
  const ChipMark mark = fit.verdict == engine::FitVerdict::unknown ? ChipMark::none : ChipMark::icon;
  chip_->set(chip_state(fit.verdict), mark, verdict_word(fit.verdict));
  chip_->show();
  setFixedHeight(theme_.px(fit_height()));
  setAccessibleName(words());
  resizeEvent(nullptr);
  update();
}

void FitBar::set_free(double available_bytes, double total_bytes, const QString& words) {
  fit_.reset();
  measured_.reset();
  more_.clear();
  setToolTip(QString());
  available_ = available_bytes;
  total_ = total_bytes;
  meaning_ = words;
  chip_->hide();
  setFixedHeight(theme_.px(kFreeHeight));
  setAccessibleName(this->words());
  update();
}

QString FitBar::words() const {
  if (!fit_) return tr("Memory %1 GiB free").arg(number_at(available_, {1 << 30, "GiB"}));
  const Scale scale = scale_of(static_cast<double>(std::max(fit_->total(), fit_->free)));
  const QString estimate =
      tr("Memory %1 of %2 %3 free, %4. %5")
          .arg(number_at(static_cast<double>(fit_->total()), scale), number_at(static_cast<double>(fit_->free), scale),
               QLatin1String(scale.name), chip_->word(), meaning_);
  const QString all = (QStringList(estimate) + more_).join(QStringLiteral(". "));
  return measured_ ? tr("%1. %2").arg(all, measured_text()) : all;
}

QString FitBar::measured_text() const {
  const Scale scale = scale_of(static_cast<double>(std::max(fit_->total(), measured_->total())));
  const auto words = [&](std::int64_t bytes) { return number_at(static_cast<double>(bytes), scale); };
  QStringList each;
  const auto parts = parts_of(theme_.tokens(), *fit_);
  for (std::size_t i = 0; i < parts.size(); ++i)
    each << tr("%1 %2, estimated %3").arg(tr(parts[i].word), words(memory_numbers(*measured_)[i]), words(parts[i].bytes));
  return tr("Measured %1 %2, estimated %3: %4")
      .arg(words(measured_->total()), QLatin1String(scale.name), words(fit_->total()), each.join(QStringLiteral("; ")));
}

void FitBar::resizeEvent(QResizeEvent*) {
  const QSize size = chip_->sizeHint();
  chip_->setGeometry(width() - size.width(), theme_.px(2), size.width(), size.height());
}

void FitBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (fit_) paint_fit(painter);
  else paint_free(painter);
}

void FitBar::paint_free(QPainter& painter) const {
  const Tokens& t = theme_.tokens();
  const Scale scale{1 << 30, "GiB"};
  qreal x = 0;
  const auto word = [&](const QString& text, int weight, const QColor& color) {
    painter.setFont(theme_.font(12, weight));
    painter.setPen(color);
    x += draw_digits(painter, QRectF(x, 0, width(), theme_.px(20)), Qt::AlignLeft | Qt::AlignVCenter, text) + theme_.px(4);
  };
  word(tr("Memory"), QFont::DemiBold, t.text2);
  x += theme_.px(4);
  word(number_at(available_, scale), QFont::DemiBold, t.text);
  word(tr("GiB free of %1").arg(number_at(total_, scale)), QFont::Normal, t.text2);
  const QRectF bar(0, theme_.px(kBarTop), width(), theme_.px(kFitBar));
  QPainterPath shape;
  shape.addRoundedRect(bar, 4, 4);
  painter.fillPath(shape, t.pressed);
  painter.setClipPath(shape);
  const double used = total_ > 0 ? (total_ - available_) / total_ : 0;
  painter.fillRect(QRectF(bar.topLeft(), QSizeF(bar.width() * used, bar.height())), t.text3);
  painter.setClipping(false);
  painter.setFont(theme_.font(12));
  painter.setPen(t.text2);
  painter.drawText(QRectF(0, theme_.px(46), width(), theme_.px(18)), Qt::AlignLeft | Qt::AlignVCenter, meaning_);
}

void FitBar::paint_head(QPainter& painter) const {
  const Tokens& t = theme_.tokens();
  const bool over = fit_->total() > fit_->free;
  const Scale scale = scale_of(static_cast<double>(std::max(fit_->total(), fit_->free)));
  qreal x = 0;
  const auto word = [&](const QString& text, int weight, const QColor& color) {
    painter.setFont(theme_.font(12, weight));
    painter.setPen(color);
    x += draw_digits(painter, QRectF(x, 0, width(), theme_.px(20)), Qt::AlignLeft | Qt::AlignVCenter, text) + theme_.px(4);
  };
  word(tr("Memory"), QFont::DemiBold, t.text2);
  if (!over) x += theme_.px(4);
  if (over) word(tr("needs"), QFont::Normal, t.text2);
  word(number_at(static_cast<double>(fit_->total()), scale), QFont::DemiBold, over ? t.error.text : t.text);
  if (over) x -= theme_.px(4);
  const QString free = number_at(static_cast<double>(fit_->free), scale);
  word(over ? tr(", %1 %2 free").arg(free, QLatin1String(scale.name))
            : tr("of %1 %2 free").arg(free, QLatin1String(scale.name)),
       QFont::Normal, t.text2);
}

void FitBar::paint_fit(QPainter& painter) const {
  const Tokens& t = theme_.tokens();
  paint_head(painter);
  const QRectF bar(0, theme_.px(kBarTop), width(), theme_.px(kFitBar));
  QPainterPath shape;
  shape.addRoundedRect(bar, 4, 4);
  painter.save();
  painter.fillPath(shape, t.pressed);
  painter.setClipPath(shape);
  const auto free = static_cast<double>(fit_->free), total = static_cast<double>(fit_->total());
  // If the estimate exceeds the free memory, the bar ends a little after it, so that the missing part can be seen.
  const double whole = total > free ? total * 1.04 : std::max(free, 1.0);
  double x = 0;
  for (const BarPart& part : parts_of(t, *fit_)) {
    const double width_px = bar.width() * static_cast<double>(part.bytes) / whole;
    painter.fillRect(QRectF(x, bar.top(), std::max(0.0, width_px - kFitGap), bar.height()), part.color);
    x += width_px;
  }
  const double limit = bar.width() * free / whole;
  if (total > free) {
    const QRectF beyond(limit, bar.top(), x - limit, bar.height());
    painter.fillRect(beyond, t.error.tint);
    draw_hatch(painter, beyond, t.error.fill, 4, 1.6);
  }
  painter.restore();
  if (total > free) painter.fillRect(QRectF(limit - 1, bar.top() - 2, 2, bar.height() + 4), t.text);
  if (measured_) {
    paint_thin_bar(painter, bar.width() / whole);
    paint_measured(painter);
  } else {
    paint_legend(painter);
  }
  painter.setFont(theme_.font(11));
  painter.setPen(t.text3);
  int top = fit_height() - 20 - static_cast<int>(more_.size()) * kMoreRow;
  for (const QString& words : QStringList(meaning_) + more_) {
    draw_digits(painter, QRectF(0, theme_.px(top), width(), theme_.px(18)), Qt::AlignLeft | Qt::AlignVCenter, words);
    top += kMoreRow;
  }
}

/// Paints the measured memory on the scale and in the colours of the estimate above it.
void FitBar::paint_thin_bar(QPainter& painter, double px_per_byte) const {
  const QRectF bar(0, theme_.px(kThinTop), width(), theme_.px(kThin));
  painter.fillRect(bar, theme_.tokens().pressed);
  const auto parts = parts_of(theme_.tokens(), *fit_);
  double x = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double wide = static_cast<double>(memory_numbers(*measured_)[i]) * px_per_byte;
    painter.fillRect(QRectF(x, bar.top(), std::min(std::max(0.0, wide - kFitGap), width() - x), bar.height()),
                     parts[i].color);
    x += wide;
  }
}

void FitBar::paint_row(QPainter& painter, int row, const QStringList& words, bool strong) const {
  const Tokens& t = theme_.tokens();
  const int top = theme_.px(kTableTop + row * kTableRow), high = theme_.px(kTableRow);
  painter.setFont(theme_.font(11, strong ? QFont::DemiBold : QFont::Normal));
  painter.setPen(row == 0 ? t.text3 : strong ? t.text : t.text2);
  draw_digits(painter, QRectF(theme_.px(row == 0 ? 0 : 12), top, width() / 2.0, high), Qt::AlignLeft | Qt::AlignVCenter,
              words[0]);
  constexpr double kRightEdges[] = {0.54, 0.77, 1};
  for (int i = 0; i < 3; ++i)
    draw_digits(painter, QRectF(0, top, width() * kRightEdges[i], high), Qt::AlignRight | Qt::AlignVCenter, words[i + 1]);
}

void FitBar::paint_measured(QPainter& painter) const {
  const Scale scale = scale_of(static_cast<double>(std::max(fit_->total(), measured_->total())));
  const auto row_of = [&](const QString& word, std::int64_t estimated, std::int64_t taken) {
    return QStringList{word, number_at(static_cast<double>(estimated), scale), number_at(static_cast<double>(taken), scale),
                       signed_number(static_cast<double>(taken - estimated), scale)};
  };
  paint_row(painter, 0, {QLatin1String(scale.name), tr("Estimate"), tr("Measured"), tr("Difference")}, false);
  const auto parts = parts_of(theme_.tokens(), *fit_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int row = static_cast<int>(i) + 1;
    const double middle = theme_.px(kTableTop + row * kTableRow) + theme_.px(kTableRow) / 2.0;
    painter.setPen(Qt::NoPen);
    painter.setBrush(parts[i].color);
    painter.drawRoundedRect(QRectF(0, middle - 4, 8, 8), 2, 2);
    paint_row(painter, row, row_of(tr(parts[i].word), parts[i].bytes, memory_numbers(*measured_)[i]), false);
  }
  paint_row(painter, kTableRows - 1, row_of(tr("Total"), fit_->total(), measured_->total()), true);
}

void FitBar::paint_legend(QPainter& painter) const {
  const Tokens& t = theme_.tokens();
  // In GiB, a small model on a large machine would show 0.0 four times.
  const Scale scale = scale_of(static_cast<double>(fit_->total()));
  const QString unit = scale.unit < (1 << 30) ? QStringLiteral(" ") + QLatin1String(scale.name) : QString();
  const auto parts = parts_of(t, *fit_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const qreal x = i % 2 == 0 ? 0 : width() * 0.53;
    const QRectF row(x, theme_.px(kLegendTop) + theme_.px(kLegendRow) * static_cast<int>(i / 2), width() / 2,
                     theme_.px(kLegendRow));
    painter.setPen(Qt::NoPen);
    painter.setBrush(parts[i].color);
    painter.drawRoundedRect(QRectF(row.left(), row.center().y() - 4, 8, 8), 2, 2);
    painter.setFont(theme_.font(11));
    painter.setPen(t.text2);
    draw_digits(
        painter, row.adjusted(theme_.px(12), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
        QStringLiteral("%1 %2%3").arg(tr(parts[i].word), number_at(static_cast<double>(parts[i].bytes), scale), unit));
  }
}

}  // namespace lathe::ui
