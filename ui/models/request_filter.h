// SPDX-License-Identifier: GPL-3.0-or-later
// RequestFilter: the text of the filter box over the requests, parsed: "status:error ttft>500 curl".
#pragma once

#include <QString>
#include <vector>

#include "app/api/request_log.h"

namespace lathe::ui {

/// Terms are joined by "and": `field:word` (status, route, client, model, source, stop), `number>x` or `number<x` (prompt,
/// cached, output, queue, ttft, itl, preempt, tok/s as `rate`), and plain words, each of which some text column must
/// contain.
class RequestFilter {
 public:
  RequestFilter() = default;
  static RequestFilter parse(const QString& text);
  bool matches(const app::RequestRecord& record) const;
  bool empty() const { return terms_.empty(); }

 private:
  struct Term {
    enum class Kind { word, field, above, below } kind = Kind::word;
    QString field;
    QString word;
    double number = 0;
  };
  static bool matches(const app::RequestRecord& record, const Term& term);
  std::vector<Term> terms_;
};

/// Decode rate: tokens per second after the first token; NaN before the second.
double decode_rate(const app::RequestRecord& record);

}  // namespace lathe::ui
