// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/output_format.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <array>

#include "engine/api/json.h"

namespace lathe::ui {
namespace {

using engine::Json;

constexpr std::array kOutputKinds = {
    OutputKindRow{OutputKind::free, "", QT_TRANSLATE_NOOP("OutputFormat", "Free text"), ""},
    OutputKindRow{OutputKind::json_object, "json_object", QT_TRANSLATE_NOOP("OutputFormat", "JSON object"), ""},
    OutputKindRow{
        OutputKind::json, "json", QT_TRANSLATE_NOOP("OutputFormat", "JSON schema"),
        "{\"type\": \"object\",\n \"properties\":\n   {\"name\": {\"type\": \"string\"}},\n \"required\": [\"name\"]}"},
    OutputKindRow{OutputKind::regex, "regex", QT_TRANSLATE_NOOP("OutputFormat", "Regular expression"),
                  "[0-9]{4}-[0-9]{2}-[0-9]{2}"},
    OutputKindRow{OutputKind::choice, "choice", QT_TRANSLATE_NOOP("OutputFormat", "Choice"), "yes\nno"},
    OutputKindRow{OutputKind::grammar, "grammar", QT_TRANSLATE_NOOP("OutputFormat", "Grammar"),
                  "root ::= \"yes\" | \"no\" reason\nreason ::= \", since \" [a-z ]+"},
    OutputKindRow{OutputKind::other, "", QT_TRANSLATE_NOOP("OutputFormat", "Structured outputs"),
                  "{\"structural_tag\": ...}"},
};

const OutputKindRow& row_of(OutputKind kind) { return kOutputKinds[static_cast<std::size_t>(kind)]; }

QString qstring_of(const Json& text) { return QString::fromStdString(text.get_ref<const std::string&>()); }

bool is_list_of_lines(const Json& value) {
  return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), [](const Json& line) {
           return line.is_string() && !line.get_ref<const std::string&>().empty() &&
                  line.get_ref<const std::string&>().find('\n') == std::string::npos;
         });
}

/// Text of a member that its kind shows without loss; none: it cannot.
std::optional<QString> shown_text(OutputKind kind, const Json& value) {
  if (kind == OutputKind::json_object) return value == Json(true) ? std::optional(QString()) : std::nullopt;
  if (kind != OutputKind::choice) return value.is_string() ? std::optional(qstring_of(value)) : std::nullopt;
  if (!is_list_of_lines(value)) return std::nullopt;
  QStringList lines;
  for (const Json& line : value) lines.append(qstring_of(line));
  return lines.join(QLatin1Char('\n'));
}

const QRegularExpression& byte_position() {
  static const QRegularExpression kPosition(QStringLiteral("at byte (\\d+)"));
  return kPosition;
}

/// Path of the editor's text in a request.
QString path_of_text(OutputKind kind) {
  const QString all = QStringLiteral("structured_outputs");
  return kind == OutputKind::other ? all : QStringLiteral("%1.%2").arg(all, QLatin1String(row_of(kind).member));
}

/// Position in the text that the message names as a byte; -1: it names none, or one of another text.
int position_in(const engine::Error& error, const OutputFormat& format) {
  const auto match = byte_position().match(QString::fromStdString(error.message));
  if (!match.hasMatch() || QString::fromStdString(error.where) != path_of_text(format.kind)) return -1;
  const QByteArray utf8 = format.text.toUtf8();
  return static_cast<int>(QString::fromUtf8(utf8.left(match.captured(1).toLongLong())).size());
}

/// "properties.age.minimun" of the error's path; empty: the error is about the whole text.
QString path_in(const engine::Error& error, const OutputFormat& format) {
  const QString where = QString::fromStdString(error.where), head = path_of_text(format.kind);
  return where.startsWith(head + QLatin1Char('.')) ? where.mid(head.size() + 1) : QString();
}

/// Span of the last key of a path: each key is searched behind the one before it.
std::optional<TextSpan> key_span(const QString& path, const QString& text) {
  std::optional<TextSpan> span;
  int from = 0;
  for (const QString& part : path.split(QLatin1Char('.'), Qt::SkipEmptyParts)) {
    const QString key = QLatin1Char('"') + part.section(QLatin1Char('['), 0, 0) + QLatin1Char('"');
    const auto at = static_cast<int>(text.indexOf(key, from));
    if (at < 0) continue;  // an index of a list
    span = TextSpan{at, static_cast<int>(key.size())};
    from = at + static_cast<int>(key.size());
  }
  return span;
}

}  // namespace

std::span<const OutputKindRow> output_kinds() { return kOutputKinds; }

OutputFormat output_format_of(const std::string& structured_outputs) {
  if (structured_outputs.empty()) return {};
  const OutputFormat other{OutputKind::other, QString::fromStdString(structured_outputs)};
  const auto json = engine::parse_json(structured_outputs, "structured_outputs");
  if (!json || !json->is_object() || json->size() != 1) return other;
  for (const OutputKindRow& row : kOutputKinds) {
    const auto member = row.member[0] != '\0' ? json->find(row.member) : json->end();
    if (member == json->end()) continue;
    const std::optional<QString> text = shown_text(row.kind, *member);
    return text ? OutputFormat{row.kind, *text} : other;
  }
  return other;
}

std::string structured_outputs_of(const OutputFormat& format) {
  const OutputKindRow& row = row_of(format.kind);
  if (format.kind == OutputKind::json_object) return R"({"json_object": true})";
  if (format.kind == OutputKind::free || format.text.trimmed().isEmpty()) return {};
  if (format.kind == OutputKind::other) return format.text.toStdString();
  Json value = format.text.toStdString();
  if (format.kind == OutputKind::choice) {
    value = Json::array();
    for (const QString& line : format.text.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) value.push_back(line.toStdString());
  }
  return engine::dump_json(Json{{row.member, std::move(value)}});
}

std::optional<TextSpan> error_span(const engine::Error& error, const OutputFormat& format) {
  const auto size = static_cast<int>(format.text.size());
  if (size == 0) return std::nullopt;
  const int at = position_in(error, format);
  if (at >= 0) return TextSpan{std::min(at, size - 1), 1};
  return key_span(path_in(error, format), format.text);
}

QString error_text(const engine::Error& error, const OutputFormat& format) {
  QString message = QString::fromStdString(error.message);
  if (const int at = position_in(error, format); at >= 0) {
    const QString before = format.text.left(at);
    const auto line = before.count(QLatin1Char('\n')) + 1, column = at - before.lastIndexOf(QLatin1Char('\n'));
    message.replace(byte_position(),
                    QCoreApplication::translate("OutputFormat", "at line %1, column %2").arg(line).arg(column));
  }
  const QString path = path_in(error, format);
  if (!path.isEmpty()) return QStringLiteral("%1: %2").arg(path, message);
  return message.left(1).toUpper() + message.mid(1);
}

}  // namespace lathe::ui
