// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/draft_keeper.h"

#include <mutex>
#include <utility>

#include "app/api/draft.h"
#include "ui/models/conversation.h"
#include "ui/widgets/protected_spans.h"

namespace lathe::ui {
namespace {

constexpr int kKeepAfterMs = 1000;

}  // namespace

struct DraftKeeper::Writes {
  std::mutex mutex;
  std::uint64_t n_asked = 0;    ///< number of the latest text; used on the GUI thread only
  std::uint64_t n_flushed = 0;  ///< number of the latest text that flush() wrote; used on the GUI thread only
  std::uint64_t n_written = 0;  ///< guarded by mutex: number of the newest text that was written
};

DraftKeeper::DraftKeeper(const PanelContext& context, std::function<QString()> text, QObject* parent)
    : QObject(parent), context_(context), text_(std::move(text)), writes_(std::make_shared<Writes>()) {
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &DraftKeeper::write_behind);
  connect(&context.navigator, &Navigator::closing, this, &DraftKeeper::flush);
}

DraftKeeper::~DraftKeeper() = default;

QString DraftKeeper::load() {
  chat_ = context_.conversation.id();
  if (chat_ != 0) {
    const engine::Result<std::string> kept = context_.workbench.history().draft(chat_);
    return kept ? readable_text(QString::fromStdString(*kept)) : QString();
  }
  const std::string kept = app::load_draft(context_.workbench.paths());
  if (!kept.empty()) return readable_text(QString::fromStdString(kept));
  app::Settings& settings = context_.workbench.settings();
  const engine::Json old = settings.get("chat/draft");
  QString text = old.is_string() ? QString::fromStdString(old.get<std::string>()) : QString();
  if (text.isEmpty()) return text;
  // The draft is saved in its own file before it is removed from the settings.
  const auto written = app::keep_draft(context_.workbench.paths(), text.toStdString());
  if (written) settings.reset("chat/draft");
  report(written);
  return text;
}

QString DraftKeeper::change_chat() {
  flush();
  return load();
}

void DraftKeeper::follow_chat() {
  if (chat_ != 0 || context_.conversation.id() == 0) return;
  chat_ = context_.conversation.id();
  changed_ = true;
  // The file goes after the chat has the text: a kill in between leaves the text twice.
  if (!flush()) return changed();
  const std::lock_guard one_writer(writes_->mutex);
  report(app::keep_draft(context_.workbench.paths(), {}));
}

void DraftKeeper::changed() {
  changed_ = true;
  if (!timer_.isActive()) timer_.start(kKeepAfterMs);
}

engine::Result<void> DraftKeeper::keep(app::History& history, const app::Paths& paths, std::int64_t chat,
                                       const QString& text) {
  if (chat == 0) return app::keep_draft(paths, text.toStdString());
  const auto kept = history.set_draft(chat, text.toStdString());
  // A chat that is gone needs no draft.
  return !kept && kept.error().code == engine::ErrorCode::not_found ? engine::Result<void>() : kept;
}

void DraftKeeper::write_behind() {
  changed_ = false;
  context_.background.run(
      this,
      [writes = writes_, number = ++writes_->n_asked, &history = context_.workbench.history(),
       paths = context_.workbench.paths(), chat = chat_, text = text_()] {
        const std::lock_guard one_writer(writes->mutex);
        if (number < writes->n_written) return engine::Result<void>();
        writes->n_written = number;
        return keep(history, paths, chat, text);
      },
      [this](const engine::Result<void>& written) { report(written); });
}

bool DraftKeeper::flush() {
  if (!changed_ && writes_->n_asked == writes_->n_flushed) return true;  // what is kept is the text
  timer_.stop();
  changed_ = false;
  const std::lock_guard one_writer(writes_->mutex);
  writes_->n_written = writes_->n_flushed = ++writes_->n_asked;
  const engine::Result<void> kept = keep(context_.workbench.history(), context_.workbench.paths(), chat_, text_());
  report(kept);
  return kept.has_value();
}

void DraftKeeper::report(const engine::Result<void>& written) {
  if (written || std::exchange(problem_told_, true)) return;
  context_.workbench.log().warning("ui", "The draft of the message cannot be saved: " + written.error().message);
}

}  // namespace lathe::ui
