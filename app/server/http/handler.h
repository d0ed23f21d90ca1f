// SPDX-License-Identifier: Apache-2.0
// What the HTTP layer asks of the program that it serves: to screen heads, and to answer requests now, later or in pieces.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/server/http/message.h"
#include "app/server/http/raw_head.h"

namespace lathe::app::http {

/// Work that goes on behind an open request. Thread: the I/O thread, except where a function says otherwise.
class Pending {
 public:
  virtual ~Pending() = default;
  /// `wake` is called from any thread whenever there may be something new; an empty one takes it away.
  virtual void on_wake(std::function<void()> wake) = 0;
  /// What to call with the status once the client has the answer (499: it has gone); it may outlive this object. Thread: the
  /// I/O thread.
  virtual std::function<void(int status)> on_answered() const { return {}; }
  /// The client has gone: end the work; what it yields is thrown away.
  virtual void cancel() = 0;
  /// The server stops: end the work with an error that the client can read.
  virtual void interrupt() = 0;
};

/// A whole response that is not there yet.
class PendingResponse : public Pending {
 public:
  /// Takes in what has happened; true when the response can be built.
  virtual bool ready() = 0;
  /// Thread: a worker. Requires: ready() was true. What it throws costs this request alone.
  virtual Response take() = 0;
};

/// True also where ready() throws: `thrown` is then the exception.
inline bool is_ready(PendingResponse& pending, std::exception_ptr& thrown) {
  try {
    return pending.ready();
  } catch (...) {
    thrown = std::current_exception();
    return true;
  }
}

/// A response in pieces, each of which is sent at once.
class PieceStream : public Pending {
 public:
  virtual std::string content_type() const = 0;
  /// Further fields of the head.
  virtual std::vector<Field> fields() const { return {}; }
  /// Appends what is new; false when that was the end.
  virtual bool pull(std::string& out) = 0;
  /// A piece that says nothing, sent in long silences so that proxies and clients keep the connection; empty: there is none.
  virtual std::string filler() const { return {}; }
  /// Whether the end was an error that was told in the stream: the connection is closed after it.
  virtual bool failed() const = 0;
};

using Reply = std::variant<Response, std::unique_ptr<PendingResponse>, std::unique_ptr<PieceStream>>;

/// What is known of a request from its head alone.
struct Screening {
  std::optional<Response> refusal;  ///< answered without reading the body
  std::vector<Field> fields;        ///< added to whatever response follows
  bool quick = false;               ///< handle() neither computes nor waits: call it on the I/O thread
};

class Handler {
 public:
  virtual ~Handler() = default;
  /// Thread: the I/O thread.
  virtual Screening screen(const RequestHead& head) = 0;
  /// Thread: a worker; the I/O thread when screening said quick.
  virtual Reply handle(Request request) = 0;
  /// The answer to bytes that are no acceptable request. `head` is null when not even that could be read. Thread: the I/O
  /// thread.
  virtual Response refuse(const RequestHead* head, const Refusal& refusal) = 0;
  /// The answer to a request whose own answer could not be built. Thread: that of the failure.
  virtual Response failed(const RequestHead& head, const std::exception_ptr& why) = 0;
  /// A request has been answered, or its client has gone (status 499). Thread: the I/O thread.
  virtual void answered(const RequestHead& head, int status) = 0;
};

}  // namespace lathe::app::http
