// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/file_drop.h"

#include <QApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QMimeData>
#include <QUrl>
#include <set>

#include "app/api/model_files.h"
#include "engine/api/checkpoint.h"

namespace lathe::ui {
namespace {

struct Dragged {
  QStringList files, elsewhere;  ///< paths of this computer; addresses of other computers
};

/// The files of a drag. Dragged text has no addresses, or addresses of web pages, which belong to the field under it.
Dragged dragged_in(const QMimeData* data) {
  Dragged dragged;
  if (data == nullptr || !data->hasUrls()) return dragged;
  for (const QUrl& url : data->urls()) {
    if (url.isLocalFile()) dragged.files.append(url.toLocalFile());
    else dragged.elsewhere.append(url.toDisplayString());
  }
  return dragged;
}

/// The innermost widget at the point that takes files.
FileTaker* taker_at(QWidget& receiver, const QPoint& point) {
  QWidget* widget = receiver.childAt(point);
  for (widget = widget != nullptr ? widget : &receiver; widget != nullptr; widget = widget->parentWidget()) {
    if (auto* taker = dynamic_cast<FileTaker*>(widget)) return taker;
    if (widget->isWindow()) break;
  }
  return nullptr;
}

/// True for text fields, which take dropped text by themselves.
bool takes_text(const QWidget& receiver) { return receiver.testAttribute(Qt::WA_InputMethodEnabled); }

QString name_of(const QString& file) {
  const QString name = QFileInfo(file).fileName();
  return name.isEmpty() ? file : name;
}

}  // namespace

FileDrop::FileDrop(QWidget& window) : QObject(&window), window_(window) {
  window.setAcceptDrops(true);
  qApp->installEventFilter(this);
}

bool FileDrop::is_mine(const QWidget& widget) const {
  const QWidget* top = widget.window();
  return top == &window_ || (top->parentWidget() == &window_ && qobject_cast<const QDockWidget*>(top) != nullptr);
}

bool FileDrop::eventFilter(QObject* object, QEvent* event) {
  const QEvent::Type type = event->type();
  if (type == QEvent::Show) {
    auto* dock = qobject_cast<QDockWidget*>(object);
    if (dock != nullptr && is_mine(*dock)) dock->setAcceptDrops(true);
    return false;
  }
  if (type != QEvent::DragEnter && type != QEvent::DragMove && type != QEvent::Drop) return false;
  auto* widget = qobject_cast<QWidget*>(object);
  if (widget == nullptr || !is_mine(*widget)) return false;
  auto* drop = static_cast<QDropEvent*>(event);  // base class of the three event types
  const Dragged dragged = dragged_in(drop->mimeData());
  if (dragged.files.isEmpty() && (dragged.elsewhere.isEmpty() || takes_text(*widget))) return false;
  // Only copies: a file manager may offer to move the files, and would then delete them.
  drop->setDropAction(Qt::CopyAction);
  drop->accept();
  if (type != QEvent::Drop) return true;
  if (!dragged.elsewhere.isEmpty())
    Q_EMIT refused(tr("%1 is not on this computer: download it, then drop the file.").arg(dragged.elsewhere.front()));
  if (!dragged.files.isEmpty()) take(dragged.files, taker_at(*widget, drop->position().toPoint()));
  return true;
}

void FileDrop::take(const QStringList& files, FileTaker* taker) {
  const QString model = taker != nullptr && !taker->leaves_models() ? QString() : model_of_files(files);
  // A JSON file is text, too, so a text field takes it; any other file of a model opens the model.
  const bool is_text =
      taker != nullptr && QFileInfo(files.front()).isFile() && files.front().endsWith(QLatin1String(".json"));
  if (!model.isEmpty() && !is_text) return Q_EMIT model_dropped(model);
  const QString words = taker != nullptr ? taker->take_files(files) : why_no_model(files);
  if (!words.isEmpty()) Q_EMIT refused(words);
}

QString model_of_files(const QStringList& files) {
  std::set<std::string> models;
  std::string first;
  for (const QString& file : files) {
    const std::string model = app::model_at(file.toStdString());
    if (model.empty() && files.size() == 1) return {};
    if (model.empty()) {
      // A tokenizer that is dropped with its checkpoint belongs to it.
      models.insert(QFileInfo(file).absolutePath().toStdString());
      continue;
    }
    if (first.empty()) first = model;
    // GGUF files that are parts of one checkpoint share a name.
    models.insert(engine::is_gguf_file(model) ? engine::checkpoint_name(model) : model);
  }
  return models.size() == 1 ? QString::fromStdString(first) : QString();
}

QString why_no_model(const QStringList& files) {
  if (files.size() > 1) return FileDrop::tr("%1 files are not one model. Drop one model at a time.").arg(files.size());
  const QFileInfo file(files.front());
  const QString name = name_of(files.front());
  if (file.isSymLink() && !file.exists())
    return FileDrop::tr("%1 is a link to %2, which does not exist.").arg(name, file.symLinkTarget());
  if (!file.exists()) return FileDrop::tr("%1 does not exist.").arg(files.front());
  if (file.isFile())
    return FileDrop::tr("%1 is not a model. Drop text files on the message field to attach them.").arg(name);
  const std::size_t n = engine::gguf_models_in(files.front().toStdString()).size();
  if (n > 1) return FileDrop::tr("%1 has %2 GGUF models. Drop one of the files.").arg(name).arg(n);
  return FileDrop::tr("%1 is not a model: a model is a folder with config.json and .safetensors files, or a GGUF file.")
      .arg(name);
}

}  // namespace lathe::ui
