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

const ReplyWriter::Reply* ReplyWriter::shown() const {
  const auto found = replies_.find(conversation_.id());
  return found == replies_.end() ? nullptr : &found->second;
}

std::int64_t ReplyWriter::message() const { return shown() != nullptr ? shown()->message : 0; }

ChatStream* ReplyWriter::stream() const { return shown() != nullptr ? shown()->stream.data() : nullptr; }

QString ReplyWriter::reasoning() const { return shown() != nullptr ? shown()->reasoning() : QString(); }

std::vector<std::int64_t> ReplyWriter::chats() const {
  std::vector<std::int64_t> list;
  for (const auto& [chat, reply] : replies_) list.push_back(chat);
  return list;
}

void ReplyWriter::reply() {
  if (running()) return;
  const int context = static_cast<int>(conversation_.messages().size());
  if (const std::int64_t id = conversation_.insert("assistant", QString())) begin(id, context, false);
}

void ReplyWriter::regenerate(std::int64_t message) {
  const int index = conversation_.index_of(message);
  if (running() || index < 0) return;
  const app::MessagePath& all = conversation_.messages();
  const app::StoredMessage& stored = all[static_cast<std::size_t>(index)];
  if (stored.role == "assistant") {
    if (conversation_.is_blank(stored)) return begin(message, index, false);
    if (const std::int64_t id = conversation_.add_version(message)) begin(id, index, false, true);
    return;
  }
  const std::size_t next = static_cast<std::size_t>(index) + 1;
  if (next < all.size() && all[next].role == "assistant") return regenerate(all[next].id);
  const bool is_version = next < all.size();
  if (const std::int64_t id = conversation_.insert_after(message, "assistant", QString()))
    begin(id, index + 1, false, is_version);
}

void ReplyWriter::continue_reply(std::int64_t message) {
  const int index = conversation_.index_of(message);
  if (running() || index < 0 || conversation_.messages()[static_cast<std::size_t>(index)].role != "assistant") return;
  // A template writes on from content alone: a reply that ended within its reasoning is written again, as a version.
  if (conversation_.shown_text(conversation_.messages()[static_cast<std::size_t>(index)]).isEmpty())
    return regenerate(message);
  begin(message, index + 1, true);
}

void ReplyWriter::begin(std::int64_t message, int context_end, bool continues, bool is_version) {
  app::ChatTurn turn;
  turn.messages = conversation_.turns(context_end);
  turn.sampling = sampling_.draw_params();
  turn.continue_final_message = continues;
  turn.completes = bridge_.completes();
  const app::StoredMessage* stored = conversation_.find(message);
  const bool goes_on = continues && stored != nullptr;
  Reply reply;
  reply.chat = conversation_.id();
  reply.message = message;
  reply.is_version = is_version;
  reply.prefix = goes_on ? conversation_.shown_text(*stored) : QString();
  reply.reasoning_before = goes_on ? footer_of(stored->footer_json).reasoning : QString();
  const std::uint64_t attempt = reply.attempt = ++attempt_;
  replies_[reply.chat] = std::move(reply);
  Q_EMIT started(message);
  Q_EMIT chats_changed();
  background_.run(
      this,
      [&workbench = workbench_, turn = std::move(turn)] {
        return app::start_chat(workbench.models(), workbench.requests(), turn);
      },
      [this, attempt, chat = conversation_.id()](engine::Result<std::unique_ptr<app::ChatGeneration>> generation) {
        const auto found = replies_.find(chat);
        if (found == replies_.end() || found->second.attempt != attempt) {
          if (generation) (*generation)->cancel();
          return;
        }
        if (generation) return follow(found->second, std::move(*generation));
        ReplyFooter footer;
        footer.error = QString::fromStdString(generation.error().message);
        footer.reasoning = found->second.reasoning();
        const Reply failed = std::move(found->second);
        replies_.erase(found);
        end(failed, footer, failed.prefix);
      });
}

void ReplyWriter::follow(Reply& reply, std::unique_ptr<app::ChatGeneration> generation) {
  reply.stream = bridge_.follow(std::move(generation), this);
  connect(reply.stream, &ChatStream::advanced, this, [this, chat = reply.chat](const QString& delta) {
    const auto found = replies_.find(chat);
    if (found == replies_.end()) return;
    const Reply& at = found->second;
    if (!delta.isEmpty()) conversation_.grow(chat, at.message, at.prefix + at.stream->text());
    if (chat == conversation_.id()) Q_EMIT advanced(delta);
  });
  connect(reply.stream, &ChatStream::ended, this, [this, chat = reply.chat] { finish(chat); });
}

ReplyFooter ReplyWriter::footer_of_end(const Reply& reply) {
  ReplyFooter footer;
  footer.stop = QStringLiteral("stopped");
  footer.reasoning = reply.reasoning();
  const ChatStream* stream = reply.stream;
  if (stream == nullptr) return footer;
  footer.usage = stream->usage();
  footer.ttft_ms = stream->timings().ttft_ms;
  footer.queue_ms = stream->timings().queue_ms;
  footer.tokens_per_second = stream->tokens_per_second();
  footer.record = stream->record_number();
  if (stream->error()) footer.error = QString::fromStdString(stream->error()->message);
  switch (stream->finish_reason()) {
    case engine::FinishReason::length: footer.stop = QStringLiteral("length"); break;
    case engine::FinishReason::stop: footer.stop = QString::fromStdString(stream->stop_reason()); break;
    case engine::FinishReason::error: footer.stop.clear(); break;
    default: break;
  }
  if (stream->finish_reason() == engine::FinishReason::stop && footer.stop.isEmpty()) footer.stop = QStringLiteral("eos");
  return footer;
}

void ReplyWriter::finish(std::int64_t chat) {
  const auto found = replies_.find(chat);
  if (found == replies_.end()) return;
  const Reply reply = std::move(found->second);
  replies_.erase(found);
  const ReplyFooter footer = footer_of_end(reply);
  const QString written = reply.prefix + (reply.stream != nullptr ? reply.stream->text() : QString());
  if (reply.stream != nullptr) {
    disconnect(reply.stream, nullptr, this, nullptr);
    reply.stream->deleteLater();
  }
  end(reply, footer, written);
}

void ReplyWriter::end(const Reply& reply, const ReplyFooter& footer, const QString& written) {
  const bool partial = !footer.error.isEmpty() || footer.stop == QLatin1String("stopped");
  const bool nothing = written.isEmpty() && footer.reasoning.isEmpty() && footer.error.isEmpty() && partial;
  // A new version that was stopped before its first word must not hide the earlier version.
  if (!nothing || !reply.is_version || !conversation_.discard(reply.chat, reply.message))
    conversation_.finish(reply.chat, reply.message, written, json_of(footer), partial);
  if (reply.chat == conversation_.id()) Q_EMIT ended(reply.message);
  Q_EMIT chats_changed();
}

void ReplyWriter::stop() {
  const Reply* reply = shown();
  if (reply == nullptr) return;
  if (reply->stream != nullptr) return reply->stream->cancel();  // the stream's last event ends the reply
  finish(reply->chat);
}

void ReplyWriter::stop_and_keep(std::int64_t chat) {
  if (running(chat)) bridge_.refresh();  // takes the events since the last tick, which may even have ended the reply
  if (const auto found = replies_.find(chat); found != replies_.end()) {
    if (found->second.stream != nullptr) found->second.stream->cancel();
    finish(chat);
  }
  conversation_.flush();
}

void ReplyWriter::stop_and_keep() {
  for (const std::int64_t chat : chats()) stop_and_keep(chat);
  conversation_.flush();
}

}  // namespace lathe::ui
