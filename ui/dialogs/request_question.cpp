// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/request_question.h"

#include <QCoreApplication>
#include <QMessageBox>
#include <QPushButton>

#include "ui/models/counted.h"

namespace lathe::ui {
namespace {

QString translated_question(const char* text) { return QCoreApplication::translate("RequestQuestion", text); }

}  // namespace

void ask_about_requests(const RequestQuestion& question, QWidget* parent, std::function<void(app::Ending)> then) {
  if (question.n_requests == 0) return then(app::Ending::cut);
  const QString text = question.n_requests == 1
                           ? translated_question("1 request is still running.")
                           : translated_question("%1 requests are still running.").arg(question.n_requests);
  auto* box = new QMessageBox(QMessageBox::Question, question.title, text, QMessageBox::Cancel, parent->window());
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName(QStringLiteral("request_question"));
  box->setInformativeText(
      translated_question("While they finish, new requests are refused. Requests that are cut keep the text so far."));
  QPushButton* finish = box->addButton(translated_question("Finish them first"), QMessageBox::AcceptRole);
  finish->setObjectName(QStringLiteral("request_question.finish"));
  QPushButton* cut = box->addButton(question.cut, QMessageBox::DestructiveRole);
  cut->setObjectName(QStringLiteral("request_question.cut"));
  box->setDefaultButton(finish);
  // The panel that asks may be gone when the answer comes.
  QObject::connect(box, &QMessageBox::buttonClicked, parent,
                   [finish, cut, then = std::move(then)](QAbstractButton* clicked) {
                     if (clicked == finish) then(app::Ending::finish);
                     else if (clicked == cut) then(app::Ending::cut);
                   });
  box->open();
}

}  // namespace lathe::ui
