// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_target.h"

#include <QStringList>

#include "app/api/manual.h"

namespace lathe::ui {
namespace {

struct PanelTopic {
  const char* panel;
  const char* option_pages;  ///< pages that define the options of the panel's controls, separated by blanks
  const char* page;
  const char* anchor;
};

constexpr PanelTopic kPanels[] = {
    {"chat", "sampling", "window", "#chat"},
    {"chat_list", "", "window", "#chat"},
    {"serve", "server serving", "server", ""},
    {"bench", "sweeps", "sweeps", ""},
    {"model", "serving quantization", "window", "#model-dock"},
    {"sampling", "sampling", "sampling", ""},
    {"requests", "", "window", "#requests"},
    {"monitor", "", "window", "#monitor"},
    {"kv", "", "window", "#kv-cache"},
    {"log", "", "window", "#log"},
};

/// Control whose object name does not end with the name of its option. An empty option: the control has none, such as the
/// whole plan.
struct ControlAlias {
  const char* name;
  const char* option;
};

constexpr ControlAlias kAliases[] = {
    {"bench.plan", ""},
    {"bench.variable", "var"},
    {"bench.variables", "var"},
    {"bench.shuffle", "in_order"},
    {"bench.goal_ttft", "goal_ttft_ms"},
    {"bench.goal_itl", "goal_itl_ms"},
    {"bench.quality", "quality_dataset"},
    {"bench.target.url", "target"},
    {"bench.target.key", "api_key"},
    {"bench.target.model", "target_model"},
    {"model.context", "max_model_len"},
    {"model.kv_memory", "kv_cache_memory_bytes"},
    {"serve.cors", "allowed_origins"},
    {"serve.key", "api_key"},
    {"serve.model", "served_model_name"},
    {"serve.model_name", "served_model_name"},
};

QString target_text(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

/// The definition of an option on one of the pages.
const app::ManualEntry* find_on(const QStringList& pages, const QString& option) {
  for (const QString& page : pages) {
    const app::ManualEntry* const entry = app::find_manual_entry(option.toStdString(), page.toStdString());
    if (entry != nullptr && target_text(entry->page->name) == page) return entry;
  }
  return nullptr;
}

/// Option named by an object name: "bench.row.turns" -> "turns"; empty: no part of the name is an option of the pages.
QString option_of(const QString& object_name, const QStringList& pages) {
  const QStringList parts = object_name.split(QLatin1Char('.'));
  for (qsizetype n = parts.size(); n > 1; --n) {
    const QString head = parts.first(n).join(QLatin1Char('.'));
    for (const ControlAlias& alias : kAliases)
      if (head == QLatin1String(alias.name)) return QLatin1String(alias.option);
    if (find_on(pages, parts[n - 1]) != nullptr) return parts[n - 1];
  }
  return {};
}

/// True if the widget is the panel, or the dock whose title bar holds controls of the panel.
bool is_panel(const QWidget& widget, const PanelTopic& topic) {
  const QString name = widget.objectName(), panel = QLatin1String(topic.panel);
  return name == panel || name == QLatin1String("dock.") + panel;
}

/// Panel that contains the control; null: none.
const PanelTopic* topic_of(const QWidget* control) {
  for (const QWidget* widget = control; widget != nullptr; widget = widget->parentWidget()) {
    for (const PanelTopic& topic : kPanels)
      if (is_panel(*widget, topic)) return &topic;
  }
  return nullptr;
}

}  // namespace

ManualTarget manual_target_of(const QWidget* control) {
  const PanelTopic* const topic = topic_of(control);
  if (topic == nullptr) return {target_text(app::manual_pages().front().name), {}};
  const QStringList pages = QString(QLatin1String(topic->option_pages)).split(QLatin1Char(' '), Qt::SkipEmptyParts);
  for (const QWidget* widget = control; !is_panel(*widget, *topic); widget = widget->parentWidget()) {
    const QString option = option_of(widget->objectName(), pages);
    if (const app::ManualEntry* const entry = find_on(pages, option)) return {target_text(entry->page->name), option};
  }
  return {QLatin1String(topic->page), QLatin1String(topic->anchor)};
}

}  // namespace lathe::ui
