// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/request_filter.h"

#include <QRegularExpression>
#include <QStringList>
#include <cmath>
#include <limits>
#include <optional>

namespace lathe::ui {
namespace {

using app::RequestRecord;
using app::RequestStatus;

QString status_text(const RequestRecord& record) {
  QString words = QString::fromStdString(app::name_of(record.status));
  if (record.status == RequestStatus::failed || record.status == RequestStatus::refused) words += QStringLiteral(" error");
  if (record.http_status != 0) words += QLatin1Char(' ') + QString::number(record.http_status);
  return words;
}

std::optional<QString> text_field(const RequestRecord& record, const QString& field) {
  if (field == QLatin1String("status")) return status_text(record);
  if (field == QLatin1String("route")) return QString::fromStdString(record.route);
  if (field == QLatin1String("client")) return QString::fromStdString(record.client);
  if (field == QLatin1String("model")) return QString::fromStdString(record.model);
  if (field == QLatin1String("source")) return QString::fromStdString(record.source);
  if (field == QLatin1String("stop")) return QString::fromStdString(record.stop);
  return std::nullopt;
}

std::optional<double> number_field(const RequestRecord& record, const QString& field) {
  if (field == QLatin1String("prompt")) return static_cast<double>(record.usage.n_prompt_tokens);
  if (field == QLatin1String("cached")) return static_cast<double>(record.usage.n_cached_tokens);
  if (field == QLatin1String("output")) return static_cast<double>(record.usage.n_completion_tokens);
  if (field == QLatin1String("queue")) return record.timings.queue_ms;
  if (field == QLatin1String("ttft")) return record.timings.ttft_ms;
  if (field == QLatin1String("itl")) return record.timings.itl_p50_ms;
  if (field == QLatin1String("preempt")) return static_cast<double>(record.timings.n_preemptions);
  if (field == QLatin1String("rate")) return decode_rate(record);
  return std::nullopt;
}

}  // namespace

double decode_rate(const RequestRecord& record) {
  const double ms = record.timings.end_ms - record.timings.ttft_ms;
  if (record.usage.n_completion_tokens < 2 || ms <= 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(record.usage.n_completion_tokens - 1) * 1000.0 / ms;
}

RequestFilter RequestFilter::parse(const QString& text) {
  static const QRegularExpression comparison(QStringLiteral("^([a-z]+)([<>])([0-9.]+)$"));
  static const QRegularExpression pair(QStringLiteral("^([a-z]+):(.+)$"));
  RequestFilter filter;
  for (const QString& part : text.toLower().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    if (const auto match = comparison.match(part); match.hasMatch() && number_field({}, match.captured(1)).has_value()) {
      const auto kind = match.captured(2) == QLatin1String(">") ? Term::Kind::above : Term::Kind::below;
      filter.terms_.push_back({kind, match.captured(1), {}, match.captured(3).toDouble()});
    } else if (const auto match_pair = pair.match(part);
               match_pair.hasMatch() && text_field({}, match_pair.captured(1)).has_value()) {
      filter.terms_.push_back({Term::Kind::field, match_pair.captured(1), match_pair.captured(2), 0});
    } else {
      filter.terms_.push_back({Term::Kind::word, {}, part, 0});
    }
  }
  return filter;
}

bool RequestFilter::matches(const RequestRecord& record, const Term& term) {
  switch (term.kind) {
    case Term::Kind::field: return text_field(record, term.field)->contains(term.word, Qt::CaseInsensitive);
    case Term::Kind::above: return *number_field(record, term.field) > term.number;
    case Term::Kind::below: return *number_field(record, term.field) < term.number;
    case Term::Kind::word: break;
  }
  for (const char* field : {"status", "route", "client", "model", "source", "stop"}) {
    if (text_field(record, QLatin1String(field))->contains(term.word, Qt::CaseInsensitive)) return true;
  }
  return QString::number(record.number) == term.word;
}

bool RequestFilter::matches(const RequestRecord& record) const {
  for (const Term& term : terms_) {
    if (!matches(record, term)) return false;
  }
  return true;
}

}  // namespace lathe::ui
