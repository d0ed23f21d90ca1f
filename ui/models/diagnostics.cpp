// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/diagnostics.h"

#include <QDateTime>
#include <QSysInfo>
#include <algorithm>

#include "ui/bridge/system_memory.h"
#include "ui/models/load_text.h"

namespace lathe::ui {
namespace {

constexpr std::size_t kLogLines = 200;

QString line(const char* name, const QString& value) { return QStringLiteral("%1: %2\n").arg(QLatin1String(name), value); }

QString of(const std::string& text) { return QString::fromStdString(text); }

/// The options that differ from the defaults, as flags of `lathe serve`.
QString changed_options(const engine::EngineOptions& options) {
  const engine::EngineOptions defaults;
  QStringList flags;
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    const std::string value = engine::get_option(options, option.name);
    if (value == engine::get_option(defaults, option.name) || option.name == "model") continue;
    flags.append(QStringLiteral("%1=%2").arg(of(std::string(option.name)), of(value)));
  }
  return flags.isEmpty() ? QStringLiteral("all default") : flags.join(QLatin1Char(' '));
}

QString memory_text(const engine::LoadedModel& model) {
  const QString estimated = bytes_text(model.estimate.total());
  if (!model.measured) return QStringLiteral("%1 estimated").arg(estimated);
  return QStringLiteral("%1 measured, %2 estimated").arg(bytes_text(model.measured->use.total()), estimated);
}

QString model_lines(const Bridge& bridge) {
  if (!bridge.loaded()) {
    const auto& error = bridge.model_status().error;
    return line("model", error ? of(error->message) : QStringLiteral("none loaded"));
  }
  const engine::LoadedModel& model = *bridge.loaded();
  return line("model", QStringLiteral("%1, %2, loaded as %3 in %4 ms")
                           .arg(of(model.name), of(model.info.path), of(model.dtype))
                           .arg(model.load_ms, 0, 'f', 0)) +
         line("options", changed_options(model.options)) +
         line("backend", QStringLiteral("%1, %2, %3, %4 threads")
                             .arg(of(model.backend), of(model.isa), of(model.device))
                             .arg(model.n_threads)) +
         line("memory", model.division ? of(engine::text_of(*model.division)) : memory_text(model)) +
         line("KV cache", QStringLiteral("%1 blocks, %2").arg(model.n_blocks).arg(of(model.kv_cache_dtype)));
}

QString changed_settings(const app::Settings& settings) {
  QStringList changed;
  for (const app::SettingDescriptor& setting : app::setting_table()) {
    const engine::Json value = settings.get(setting.key);
    // Leaves out API keys and the settings of the chat, which hold text of the user.
    const bool is_private = setting.key.find("key") != std::string_view::npos || setting.key.starts_with("chat/");
    if (value == setting.fallback || is_private) continue;
    changed.append(QStringLiteral("%1=%2").arg(of(std::string(setting.key)), of(engine::dump_json(value))));
  }
  return changed.isEmpty() ? QStringLiteral("all default") : changed.join(QLatin1Char(' '));
}

QString log_lines(const app::Log& log) {
  std::uint64_t cursor = 0;
  const std::vector<app::LogLine> lines = log.lines_since(cursor);
  QString text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLogLines); i < lines.size(); ++i) {
    const std::string_view level = app::name_of(lines[i].level);
    text += QStringLiteral("%1 %2 %3 %4\n")
                .arg(QDateTime::fromMSecsSinceEpoch(lines[i].unix_ms).toString(Qt::ISODateWithMs), of(std::string(level)),
                     of(lines[i].category), of(lines[i].text));
  }
  return text;
}

}  // namespace

QString diagnostics(app::Workbench& workbench, const Bridge& bridge) {
  const SystemMemory memory = read_system_memory();
  constexpr double kMiB = 1024.0 * 1024.0;
  return line("Lathe", of(app::version())) + line("Qt", QLatin1String(qVersion())) +
         line("system", QSysInfo::prettyProductName() + QStringLiteral(", ") + QSysInfo::kernelVersion()) +
         line("memory", QStringLiteral("%1 of %2 MiB free")
                            .arg(memory.available / kMiB, 0, 'f', 0)
                            .arg(memory.total / kMiB, 0, 'f', 0)) +
         model_lines(bridge) + line("settings", changed_settings(workbench.settings())) + QStringLiteral("log:\n") +
         log_lines(workbench.log());
}

}  // namespace lathe::ui
