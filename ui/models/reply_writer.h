// SPDX-License-Identifier: GPL-3.0-or-later
// ReplyWriter: lets the engine write replies into chats: send, regenerate, continue, stop.
#pragma once

#include <QObject>
#include <QPointer>
#include <map>
#include <vector>

#include "app/api/workbench.h"
#include "ui/bridge/background.h"
#include "ui/bridge/bridge.h"
#include "ui/models/conversation.h"
#include "ui/models/sampling_choice.h"

namespace lathe::ui {

/// The facts shown under a reply. They are saved as JSON with the version of the reply.
struct ReplyFooter {
  engine::Usage usage;
  double ttft_ms = 0, tokens_per_second = 0, queue_ms = 0;
  QString stop;              ///< "eos", "length", "stopped", a stop string
  QString error;             ///< error that broke the reply off
  QString reasoning;         ///< text that the model wrote before its answer
  std::uint64_t record = 0;  ///< number in the request log of this run of the program; 0: none
};
std::string json_of(const ReplyFooter& footer);
ReplyFooter footer_of(const std::string& json);

/// Writes any number of replies, at most one a chat; leaving a chat changes nothing about its reply. Prompts are rendered
/// and tokenized in the background.
class ReplyWriter : public QObject {
  Q_OBJECT
 public:
  ReplyWriter(app::Workbench& workbench, Bridge& bridge, Background& background, SamplingChoice& sampling,
              Conversation& conversation, QObject* parent = nullptr);

  /// The reply of the shown chat: whether it is being written, its message (0: none), and its stream, which is null until
  /// the engine has taken the request.
  bool running() const { return running(conversation_.id()); }
  std::int64_t message() const;
  ChatStream* stream() const;
  QString reasoning() const;

  bool running(std::int64_t chat) const { return replies_.contains(chat); }
  /// The chats that replies are written into.
  std::vector<std::int64_t> chats() const;

  /// Writes a reply after the last message.
  void reply();
  /// Writes another version of a reply, or a first reply after a message of another role.
  void regenerate(std::int64_t message);
  void continue_reply(std::int64_t message);
  /// Stops the reply of the shown chat at the engine's next step; the text written so far stays.
  void stop();
  /// Stops the reply of a chat and saves it at once.
  void stop_and_keep(std::int64_t chat);
  /// Stops all replies and saves them at once: the window closes.
  void stop_and_keep();

 Q_SIGNALS:
  /// Emitted for the shown chat.
  void started(qint64 message);
  void advanced(const QString& delta);
  void ended(qint64 message);
  /// A reply began or ended in any chat.
  void chats_changed();

 private:
  struct Reply {
    std::int64_t chat = 0, message = 0;
    bool is_version = false;    ///< the message was added for this reply, and others are there
    QString prefix;             ///< text of the reply that is continued
    QString reasoning_before;   ///< reasoning of the reply that is continued
    std::uint64_t attempt = 0;  ///< by which the result of a stopped start is ignored
    QPointer<ChatStream> stream;

    QString reasoning() const { return reasoning_before + (stream != nullptr ? stream->reasoning() : QString()); }
  };
  const Reply* shown() const;
  void begin(std::int64_t message, int context_end, bool continues, bool is_version = false);
  void follow(Reply& reply, std::unique_ptr<app::ChatGeneration> generation);
  void finish(std::int64_t chat);
  void end(const Reply& reply, const ReplyFooter& footer, const QString& written);
  static ReplyFooter footer_of_end(const Reply& reply);

  app::Workbench& workbench_;
  Bridge& bridge_;
  Background& background_;
  SamplingChoice& sampling_;
  Conversation& conversation_;
  std::map<std::int64_t, Reply> replies_;  ///< by chat
  std::uint64_t attempt_ = 0;              ///< number of the latest start
};

}  // namespace lathe::ui
