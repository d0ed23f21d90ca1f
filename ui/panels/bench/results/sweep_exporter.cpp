// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/sweep_exporter.h"

#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QSaveFile>

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/results/sweep_header.h"

namespace lathe::ui {
namespace {

constexpr int kUsualPort = 8000;  // of a server that does not run yet

}  // namespace

SweepExporter::SweepExporter(const PanelContext& context, std::function<app::ChartChoice()> shown_chart, QWidget* parent)
    : QObject(parent), context_(context), shown_chart_(std::move(shown_chart)), window_(parent) {}

void SweepExporter::save(const app::ExportFormat& format) {
  if (context_.bridge.sweep_status().report == nullptr) return;
  const QString path =
      QFileDialog::getSaveFileName(window_, tr("Export the sweep"), QStringLiteral("sweep.") + text_of(format.ending));
  if (!path.isEmpty()) write(format, path);
}

void SweepExporter::write(const app::ExportFormat& format, const QString& path) {
  const app::SweepStatus status = context_.bridge.sweep_status();
  if (status.report == nullptr) return;
  const std::string text = format.write(*status.plan, *status.report, shown_chart_());
  QSaveFile file(path);
  const bool written = file.open(QIODevice::WriteOnly) && file.write(QByteArray::fromStdString(text)) >= 0 && file.commit();
  if (!written) {
    Q_EMIT failed(tr("The sweep was not exported"), QStringLiteral("%1: %2").arg(path, file.errorString()));
    return;
  }
  Q_EMIT done(tr("Exported to %1").arg(path));
  context_.workbench.log().info("ui", "exported the sweep to " + path.toStdString());
}

void SweepExporter::copy(const Reproduction& way, std::size_t cell) {
  const app::SweepStatus status = context_.bridge.sweep_status();
  if (status.plan == nullptr) return;
  const app::ServerStatus server = context_.workbench.server().status();
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port > 0 ? server.port : kUsualPort);
  QGuiApplication::clipboard()->setText(QString::fromStdString(way.write(*status.plan, cell, url)));
  QString copied = ReproduceMenu::tr(way.copied);
  if (way.is_of_cell) {
    const QString values = cell_text(*status.plan, cell);
    copied = copied.arg(values.isEmpty() ? tr("the cell") : values);
  }
  Q_EMIT done(copied);
  context_.workbench.log().info("ui", "copied how to measure a cell of the sweep again");
}

}  // namespace lathe::ui
