// SPDX-License-Identifier: Apache-2.0
// Handler: the interface of the HTTP layer to the program: screens request heads and answers requests now, later or in
// pieces.
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

/// Work of an open request. Thread: the I/O thread, unless a function says otherwise.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Sets the callback, which is called from any thread whenever there may be news; an empty `wake` removes it.
  virtual void on_wake(std::function<void()> wake) = 0;
  /// Returns the function to call with the status once the client has the answer (499: the client has gone); it may outlive
  /// this object. Thread: the I/O thread.
  virtual std::function<void(int status)> on_answered() const { return {}; }
  /// Ends the work because the client has gone; its results are discarded.
  virtual void cancel() = 0;
  /// Ends the work, because the server stops, with an error that the client can read.
  virtual void interrupt() = 0;
};

/// A response that is computed and then sent as a whole.
class PendingResponse : public Pending {
 public:
  /// Takes the news; true when the response can be built.
  virtual bool ready() = 0;
  /// Builds the response. An exception fails this request only. Thread: a worker. Requires: ready() returned true.
  virtual Response take() = 0;
};

/// Calls ready(). True also if it throws: `thrown` is then the exception.
inline bool is_ready(PendingResponse& pending, std::exception_ptr& thrown) {
  try {
    return pending.ready();
  } catch (...) {
    thrown = std::current_exception();
    return true;
  }
}

/// A response whose pieces are sent as they arise.
class PieceStream : public Pending {
 public:
  virtual std::string content_type() const = 0;
  /// Further fields of the head.
  virtual std::vector<Field> fields() const { return {}; }
  /// Appends the new pieces to `out`; false at the end.
  virtual bool pull(std::string& out) = 0;
  /// Returns a piece without content, sent in long silences so that proxies and clients keep the connection; empty: there is
  /// none.
  virtual std::string filler() const { return {}; }
  /// True if the stream ended with an error: the connection is then closed.
  virtual bool failed() const = 0;
};

using Reply = std::variant<Response, std::unique_ptr<PendingResponse>, std::unique_ptr<PieceStream>>;

/// Result of checking a request's head.
struct Screening {
  std::optional<Response> refusal;  ///< answer that is sent without reading the body
  std::vector<Field> fields;        ///< fields of any response to this request
  bool quick = false;               ///< handle() neither computes nor waits and is called on the I/O thread
};

class Handler {
 public:
  virtual ~Handler() = default;
  /// Thread: the I/O thread.
  virtual Screening screen(const RequestHead& head) = 0;
  /// Thread: a worker; the I/O thread when screening said quick.
  virtual Reply handle(Request request) = 0;
  /// Returns the answer to bytes that are no acceptable request. `head`: null if it could not be read. Thread: the I/O
  /// thread.
  virtual Response refuse(const RequestHead* head, const Refusal& refusal) = 0;
  /// Returns the answer to a request whose own answer could not be built. Thread: that of the failure.
  virtual Response failed(const RequestHead& head, const std::exception_ptr& why) = 0;
  /// Reports that a request has been answered, or that its client has gone (status 499). Thread: the I/O thread.
  virtual void answered(const RequestHead& head, int status) = 0;
};

}  // namespace lathe::app::http
