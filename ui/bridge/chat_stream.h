// SPDX-License-Identifier: GPL-3.0-or-later
// ChatStream: a running chat generation as the GUI thread sees it: text so far, phase, token counts and timings, end.
#pragma once

#include <QObject>
#include <QString>
#include <memory>

#include "app/api/chat_session.h"
#include "engine/api/snapshot.h"

namespace lathe::ui {

enum class StreamPhase { queued, reading, writing, done };

/// Thread: GUI. Fed by the Bridge, at most one advanced() a tick.
class ChatStream : public QObject {
  Q_OBJECT
 public:
  ChatStream(std::unique_ptr<app::ChatGeneration> generation, QObject* parent);
  ~ChatStream() override;  ///< cancels a generation that still runs

  void cancel();
  bool cancelled() const { return cancelled_; }
  bool finished() const { return last_.finished; }
  StreamPhase phase() const { return phase_; }
  const QString& text() const { return text_; }  ///< the answer's content
  const QString& reasoning() const { return reasoning_; }
  const engine::Usage& usage() const { return last_.usage; }
  const engine::RequestTimings& timings() const { return last_.timings; }
  engine::FinishReason finish_reason() const { return last_.finish_reason; }
  const std::string& stop_reason() const { return last_.stop_reason; }
  const std::optional<engine::Error>& error() const { return last_.error; }
  std::uint64_t record_number() const;
  /// State of the request in the engine: requests ahead of it, prompt tokens computed.
  const engine::ActiveRequest& active() const { return active_; }
  double tokens_per_second() const;

  /// Takes the events that arrived since the last call. Returns true if there were any. Called by the Bridge only.
  bool drain(const engine::EngineSnapshot* snapshot);

 Q_SIGNALS:
  void advanced(const QString& delta);  ///< text or counts are new; delta may be empty
  void ended();                         ///< emitted once, after the last advanced()

 private:
  std::unique_ptr<app::ChatGeneration> generation_;
  engine::TokenEvent last_;
  engine::ActiveRequest active_;
  StreamPhase phase_ = StreamPhase::queued;
  QString text_, reasoning_;
  bool cancelled_ = false;
};

}  // namespace lathe::ui
