// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/draft_keeper.h"

#include <mutex>
#include <utility>

#include "app/api/draft.h"
#include "ui/widgets/protected_spans.h"

namespace lathe::ui {
namespace {

constexpr int kKeepAfterMs = 1000;

}  // namespace

struct DraftKeeper::Writes {
  std::mutex mutex;
  std::uint64_t n_asked = 0;    ///< number of the latest text; used on the GUI thread only
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

void DraftKeeper::changed() {
  if (!timer_.isActive()) timer_.start(kKeepAfterMs);
}

void DraftKeeper::write_behind() {
  context_.background.run(
      this,
      [writes = writes_, number = ++writes_->n_asked, paths = context_.workbench.paths(), text = text_()] {
        const std::lock_guard one_writer(writes->mutex);
        if (number < writes->n_written) return engine::Result<void>();
        writes->n_written = number;
        return app::keep_draft(paths, text.toStdString());
      },
      [this](const engine::Result<void>& written) { report(written); });
}

void DraftKeeper::flush() {
  if (!timer_.isActive() && writes_->n_asked == 0) return;  // the text has not changed
  timer_.stop();
  const std::lock_guard one_writer(writes_->mutex);
  writes_->n_written = ++writes_->n_asked;
  report(app::keep_draft(context_.workbench.paths(), text_().toStdString()));
}

void DraftKeeper::report(const engine::Result<void>& written) {
  if (written || std::exchange(problem_told_, true)) return;
  context_.workbench.log().warning("ui", "The draft of the message cannot be saved: " + written.error().message);
}

}  // namespace lathe::ui
