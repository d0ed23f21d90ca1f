// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/reply_writer.h"

namespace lathe::ui {
namespace {

using engine::Json;

template <class T>
T reply_number(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<T>() : T{};
}

QString text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? QString::fromStdString(found->get<std::string>()) : QString();
}

}  // namespace

std::string json_of(const ReplyFooter& footer) {
  return engine::dump_json(Json{{"n_prompt", footer.usage.n_prompt_tokens},
                                {"n_cached", footer.usage.n_cached_tokens},
                                {"n_completion", footer.usage.n_completion_tokens},
                                {"ttft_ms", footer.ttft_ms},
                                {"queue_ms", footer.queue_ms},
                                {"tok_s", footer.tokens_per_second},
                                {"stop", footer.stop.toStdString()},
                                {"error", footer.error.toStdString()},
                                {"reasoning", footer.reasoning.toStdString()},
                                {"record", footer.record}});
}

ReplyFooter footer_of(const std::string& source) {
  ReplyFooter footer;
  if (source.empty()) return footer;
  const engine::Result<Json> json = engine::parse_json(source, "footer");
  if (!json || !json->is_object()) return footer;
  footer.usage.n_prompt_tokens = reply_number<std::int64_t>(*json, "n_prompt");
  footer.usage.n_cached_tokens = reply_number<std::int64_t>(*json, "n_cached");
  footer.usage.n_completion_tokens = reply_number<std::int64_t>(*json, "n_completion");
  footer.ttft_ms = reply_number<double>(*json, "ttft_ms");
  footer.queue_ms = reply_number<double>(*json, "queue_ms");
  footer.tokens_per_second = reply_number<double>(*json, "tok_s");
  footer.stop = text(*json, "stop");
  footer.error = text(*json, "error");
  footer.reasoning = text(*json, "reasoning");
  footer.record = reply_number<std::uint64_t>(*json, "record");
  return footer;
}

ReplyWriter::ReplyWriter(app::Workbench& workbench, Bridge& bridge, Background& background, SamplingChoice& sampling,
                         Conversation& conversation, QObject* parent)
    : QObject(parent),
      workbench_(workbench),
      bridge_(bridge),
      background_(background),
      sampling_(sampling),
      conversation_(conversation) {}

void ReplyWriter::reply() {
  if (running()) return;
  const int context = static_cast<int>(conversation_.messages().size());
  if (const std::int64_t id = conversation_.insert("assistant", QString())) begin(id, context, false);
}

void ReplyWriter::regenerate(std::int64_t message) {
  const int index = conversation_.index_of(message);
  if (running() || index < 0) return;
  if (conversation_.messages()[static_cast<std::size_t>(index)].role == "assistant") {
    const app::StoredMessage& stored = conversation_.messages()[static_cast<std::size_t>(index)];
    shown_before_ = stored.current;
    if (!conversation_.is_blank(stored)) conversation_.add_version(message);
    return begin(message, index, false);
  }
  const std::vector<app::StoredMessage>& all = conversation_.messages();
  const std::size_t next = static_cast<std::size_t>(index) + 1;
  if (next < all.size() && all[next].role == "assistant") return regenerate(all[next].id);
  if (const std::int64_t id = conversation_.insert("assistant", QString(), index + 1)) begin(id, index + 1, false);
}

void ReplyWriter::continue_reply(std::int64_t message) {
  const int index = conversation_.index_of(message);
  if (running() || index < 0 || conversation_.messages()[static_cast<std::size_t>(index)].role != "assistant") return;
  // A template writes on from content alone: a reply that ended within its reasoning is written again, as a version.
  if (conversation_.shown_text(conversation_.messages()[static_cast<std::size_t>(index)]).isEmpty())
    return regenerate(message);
  begin(message, index + 1, true);
}

void ReplyWriter::begin(std::int64_t message, int context_end, bool continues) {
  app::ChatTurn turn;
  turn.messages = conversation_.turns(context_end);
  turn.sampling = sampling_.draw_params();
  turn.continue_final_message = continues;
  const app::StoredMessage* stored = conversation_.find(message);
  const bool goes_on = continues && stored != nullptr;
  prefix_ = goes_on ? conversation_.shown_text(*stored) : QString();
  reasoning_before_ =
      goes_on ? footer_of(stored->versions[static_cast<std::size_t>(stored->current)].footer_json).reasoning : QString();
  message_ = message;
  const std::uint64_t attempt = ++attempt_;
  Q_EMIT started(message);
  background_.run(
      this,
      [&workbench = workbench_, turn = std::move(turn)] {
        return app::start_chat(workbench.models(), workbench.requests(), turn);
      },
      [this, attempt](engine::Result<std::unique_ptr<app::ChatGeneration>> generation) {
        if (attempt != attempt_ || message_ == 0) {
          if (generation) (*generation)->cancel();
          return;
        }
        if (generation) follow(std::move(*generation));
        else fail_start(generation.error());
      });
}

void ReplyWriter::follow(std::unique_ptr<app::ChatGeneration> generation) {
  stream_ = bridge_.follow(std::move(generation), this);
  connect(stream_, &ChatStream::advanced, this, [this](const QString& delta) {
    if (!delta.isEmpty()) conversation_.grow(message_, prefix_ + stream_->text());
    Q_EMIT advanced(delta);
  });
  connect(stream_, &ChatStream::ended, this, &ReplyWriter::finish);
}

void ReplyWriter::fail_start(const engine::Error& error) {
  ReplyFooter footer;
  footer.error = QString::fromStdString(error.message);
  footer.reasoning = reasoning();
  const std::int64_t message = std::exchange(message_, 0);
  conversation_.finish(message, prefix_, json_of(footer), true);
  Q_EMIT ended(message);
}

ReplyFooter ReplyWriter::footer_now() const {
  ReplyFooter footer;
  footer.stop = QStringLiteral("stopped");
  footer.reasoning = reasoning();
  if (stream_ == nullptr) return footer;
  footer.usage = stream_->usage();
  footer.ttft_ms = stream_->timings().ttft_ms;
  footer.queue_ms = stream_->timings().queue_ms;
  footer.tokens_per_second = stream_->tokens_per_second();
  footer.record = stream_->record_number();
  if (stream_->error()) footer.error = QString::fromStdString(stream_->error()->message);
  switch (stream_->finish_reason()) {
    case engine::FinishReason::length: footer.stop = QStringLiteral("length"); break;
    case engine::FinishReason::stop: footer.stop = QString::fromStdString(stream_->stop_reason()); break;
    case engine::FinishReason::error: footer.stop.clear(); break;
    default: break;
  }
  if (stream_->finish_reason() == engine::FinishReason::stop && footer.stop.isEmpty()) footer.stop = QStringLiteral("eos");
  return footer;
}

void ReplyWriter::finish() {
  if (message_ == 0) return;
  const ReplyFooter footer = footer_now();
  const bool partial = !footer.error.isEmpty() || footer.stop == QLatin1String("stopped");
  const QString written = prefix_ + (stream_ != nullptr ? stream_->text() : QString());
  const std::int64_t message = std::exchange(message_, 0);
  ++attempt_;
  if (stream_ != nullptr) stream_->deleteLater();
  stream_ = nullptr;
  const app::StoredMessage* stored = conversation_.find(message);
  const bool nothing = written.isEmpty() && footer.reasoning.isEmpty() && footer.error.isEmpty() && partial;
  // A new version that was stopped before its first word must not hide the earlier version.
  if (nothing && stored != nullptr && stored->versions.size() > 1) conversation_.drop_empty_version(message, shown_before_);
  else conversation_.finish(message, written, json_of(footer), partial);
  Q_EMIT ended(message);
}

void ReplyWriter::stop() {
  if (!running()) return;
  if (stream_ != nullptr) return stream_->cancel();  // the stream's last event ends the reply
  finish();
}

void ReplyWriter::stop_and_keep() {
  if (running()) bridge_.refresh();  // takes the events since the last tick, which may even have ended the reply
  if (running()) {
    if (stream_ != nullptr) stream_->cancel();
    finish();
  }
  conversation_.flush();
}

}  // namespace lathe::ui
