// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/quit_question.h"

#include <QCoreApplication>
#include <QMessageBox>
#include <QPushButton>

#include "ui/models/counted.h"

namespace lathe::ui {
namespace {

QString translated_quit(const char* text) { return QCoreApplication::translate("QuitQuestion", text); }

/// Text about the work that quitting would end: "3 requests and a sweep at 14 of 40 cells are still running."
QString running_text(const RunningWork& work) {
  QStringList parts;
  if (work.n_requests > 0)
    parts << counted(static_cast<quint64>(work.n_requests), translated_quit("request"), translated_quit("requests"));
  if (work.sweep.runs())
    parts << translated_quit("a sweep at %1 of %2 cells")
                 .arg(work.sweep.progress.cells_done)
                 .arg(work.sweep.progress.cells_total);
  if (parts.isEmpty()) return translated_quit("The server is on at %1.").arg(work.server);
  QString text = parts.join(translated_quit(" and "));
  text[0] = text[0].toUpper();
  return parts.size() == 1 && work.n_requests <= 1 ? translated_quit("%1 is still running.").arg(text)
                                                   : translated_quit("%1 are still running.").arg(text);
}

/// Text about what is saved, and about the server.
QString kept_work_text(const RunningWork& work) {
  QStringList sentences;
  if (work.n_requests > 0) sentences << translated_quit("The text so far is kept in its chat and marked as stopped.");
  if (work.sweep.runs())
    sentences << translated_quit(
        "The results of the sweep are kept; the Bench page offers to continue it at the next start.");
  if (!work.server.isEmpty())
    sentences << (work.n_requests > 0 || work.sweep.runs()
                      ? translated_quit("The server at %1 stops with Lathe.").arg(work.server)
                      : translated_quit("It stops with Lathe: its clients get no more answers."));
  return sentences.join(QLatin1Char(' '));
}

}  // namespace

QuitAnswer ask_to_quit(const RunningWork& work, QWidget* parent) {
  if (work.is_empty()) return QuitAnswer::quit;
  QMessageBox box(QMessageBox::Question, translated_quit("Quit Lathe"), running_text(work), QMessageBox::Cancel, parent);
  box.setObjectName(QStringLiteral("close_dialog"));
  box.setInformativeText(kept_work_text(work));
  const auto add = [&box](const char* name, const QString& text, QMessageBox::ButtonRole role) {
    QPushButton* button = box.addButton(text, role);
    button->setObjectName(QStringLiteral("close_dialog.") + QLatin1String(name));
    return button;
  };
  const bool is_idle = work.n_requests == 0 && !work.sweep.runs();
  QPushButton* stop =
      add("stop", is_idle ? translated_quit("Quit") : translated_quit("Stop and quit"), QMessageBox::AcceptRole);
  QPushButton* finish = nullptr;
  QPushButton* tray = nullptr;
  if (work.n_requests > 0 && !work.sweep.runs())
    finish = add("finish", translated_quit("Finish them first"), QMessageBox::ActionRole);
  if (work.has_tray && !work.server.isEmpty())
    tray = add("tray", translated_quit("Keep the server on"), QMessageBox::ActionRole);
  box.setDefaultButton(QMessageBox::Cancel);
  box.exec();
  const QAbstractButton* clicked = box.clickedButton();
  if (clicked == nullptr) return QuitAnswer::cancel;
  if (clicked == stop) return QuitAnswer::quit;
  if (clicked == finish) return QuitAnswer::finish;
  return clicked == tray ? QuitAnswer::tray : QuitAnswer::cancel;
}

}  // namespace lathe::ui
