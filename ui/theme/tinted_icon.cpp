// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/tinted_icon.h"

#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>

namespace lathe::ui {
namespace {

class TintedIconEngine final : public QIconEngine {
 public:
  TintedIconEngine(const Theme& theme, QString name, IconTone tone) : theme_(&theme), name_(std::move(name)), tone_(tone) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    const qreal ratio = painter->device()->devicePixelRatioF();
    painter->drawPixmap(rect, rendered(rect.size() * ratio, ratio, mode, state));
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override { return rendered(size, 1, mode, state); }
  QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal scale) override {
    return rendered(size, scale, mode, state);
  }
  QSize actualSize(const QSize& size, QIcon::Mode, QIcon::State) override { return size; }
  QString iconName() override { return name_; }
  QIconEngine* clone() const override { return new TintedIconEngine(*this); }

 private:
  QColor color(QIcon::Mode mode, QIcon::State state) const {
    if (mode == QIcon::Disabled) return theme_->tokens().disabled;
    if (state == QIcon::On && (tone_ == IconTone::rest || tone_ == IconTone::quiet)) return theme_->tokens().accent_text;
    return theme_->tone_color(tone_);
  }

  QPixmap rendered(const QSize& size, qreal ratio, QIcon::Mode mode, QIcon::State state) const {
    const QColor tint = color(mode, state);
    const QString key =
        QStringLiteral("lathe-icon/%1/%2/%3x%4@%5").arg(name_, tint.name()).arg(size.width()).arg(size.height()).arg(ratio);
    QPixmap pixmap;
    if (QPixmapCache::find(key, &pixmap)) return pixmap;
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name_));
    if (!file.open(QIODevice::ReadOnly)) return pixmap;
    QByteArray svg = file.readAll();
    svg.replace("currentColor", tint.name().toUtf8());
    pixmap = QPixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    QSvgRenderer(svg).render(&painter, QRectF(QPointF(), QSizeF(size)));
    painter.end();
    pixmap.setDevicePixelRatio(ratio);
    QPixmapCache::insert(key, pixmap);
    return pixmap;
  }

  const Theme* theme_;
  QString name_;
  IconTone tone_;
};

}  // namespace

QIcon make_tinted_icon(const Theme& theme, const QString& name, IconTone tone) {
  return QIcon(new TintedIconEngine(theme, name, tone));
}

}  // namespace lathe::ui
