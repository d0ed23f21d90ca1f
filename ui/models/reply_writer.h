// SPDX-License-Identifier: GPL-3.0-or-later
// ReplyWriter: lets the engine write a reply into the open conversation: send, regenerate, continue, stop.
#pragma once

#include <QObject>
#include <QPointer>

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

/// Writes one reply at a time. The prompt is rendered and tokenized in the background.
class ReplyWriter : public QObject {
  Q_OBJECT
 public:
  ReplyWriter(app::Workbench& workbench, Bridge& bridge, Background& background, SamplingChoice& sampling,
              Conversation& conversation, QObject* parent = nullptr);

  bool running() const { return message_ != 0; }
  /// The message that is being written; 0: none.
  std::int64_t message() const { return message_; }
  /// Null until the engine has taken the request.
  ChatStream* stream() const { return stream_; }

  /// The reasoning of the reply that is being written.
  QString reasoning() const { return reasoning_before_ + (stream_ != nullptr ? stream_->reasoning() : QString()); }

  /// Writes a reply after the last message.
  void reply();
  /// Writes a new version of a reply, or a first reply after a message of another role.
  void regenerate(std::int64_t message);
  void continue_reply(std::int64_t message);
  /// Stops the engine at its next step; the text written so far stays.
  void stop();
  /// Stops the engine and saves the reply at once: the window closes or another chat is opened.
  void stop_and_keep();

 Q_SIGNALS:
  void started(qint64 message);
  void advanced(const QString& delta);
  void ended(qint64 message);

 private:
  void begin(std::int64_t message, int context_end, bool continues);
  void follow(std::unique_ptr<app::ChatGeneration> generation);
  void fail_start(const engine::Error& error);
  void finish();
  ReplyFooter footer_now() const;

  app::Workbench& workbench_;
  Bridge& bridge_;
  Background& background_;
  SamplingChoice& sampling_;
  Conversation& conversation_;
  QPointer<ChatStream> stream_;
  std::int64_t message_ = 0;
  int shown_before_ = 0;       ///< the version that was shown before a new one
  QString prefix_;             ///< text of the reply that is continued
  QString reasoning_before_;   ///< reasoning of the reply that is continued
  std::uint64_t attempt_ = 0;  ///< number of the latest start, by which the result of a stopped start is ignored
};

}  // namespace lathe::ui
