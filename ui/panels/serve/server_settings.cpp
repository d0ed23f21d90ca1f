// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/serve/server_settings.h"

#include <QRandomGenerator>

namespace lathe::ui {
namespace {

constexpr int kShownTail = 4;
constexpr int kShortestPartlyShown = 16;

std::vector<std::string> strings_of(const engine::Json& json) {
  std::vector<std::string> out;
  for (const engine::Json& item : json) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

}  // namespace

app::ServerOptions server_options(const app::Settings& settings) {
  app::ServerOptions options;
  options.host = settings.get("server/host").get<std::string>();
  options.port = static_cast<std::uint16_t>(settings.get("server/port").get<int>());
  options.api_key = settings.get("server/api_key").get<std::string>();
  options.model_name = settings.get("server/model_name").get<std::string>();
  options.other_model_names = strings_of(settings.get("server/other_model_names"));
  options.any_model_name = settings.get("server/any_model_name").get<bool>();
  options.allowed_hosts = strings_of(settings.get("server/allowed_hosts"));
  options.allowed_origins = strings_of(settings.get("server/allowed_origins"));
  options.dialects_off = strings_of(settings.get("server/dialects_off"));
  options.limits.body_bytes = settings.get("server/max_body_mib").get<std::int64_t>() << 20;
  options.limits.connections = settings.get("server/max_connections").get<int>();
  options.limits.header_timeout_s = settings.get("server/header_timeout_s").get<int>();
  options.limits.body_idle_timeout_s = settings.get("server/body_idle_timeout_s").get<int>();
  options.limits.write_stall_timeout_s = settings.get("server/write_stall_timeout_s").get<int>();
  options.limits.idle_timeout_s = settings.get("server/idle_timeout_s").get<int>();
  options.limits.sse_keep_alive_interval_s = settings.get("server/sse_keep_alive_interval_s").get<int>();
  return options;
}

bool is_this_computer(const QString& host) {
  return host == QLatin1String("localhost") || host == QLatin1String("::1") || host == QLatin1String("[::1]") ||
         host.startsWith(QLatin1String("127."));
}

QString authority(const app::ServerStatus& status) {
  QString host = QString::fromStdString(status.host);
  if (host == QLatin1String("0.0.0.0")) host = QStringLiteral("127.0.0.1");
  if (host == QLatin1String("::")) host = QStringLiteral("::1");
  if (host.contains(QLatin1Char(':')) && !host.startsWith(QLatin1Char('['))) host = QStringLiteral("[%1]").arg(host);
  return QStringLiteral("%1:%2").arg(host).arg(status.port);
}

QString new_api_key() {
  auto* random = QRandomGenerator::system();
  QString key = QStringLiteral("lathe-");
  for (int i = 0; i < 4; ++i) key += QStringLiteral("%1").arg(random->generate(), 8, 16, QLatin1Char('0'));
  return key;
}

QString masked(const QString& key) {
  if (key.isEmpty()) return {};
  const QString dots(8, QChar(0x00b7));
  if (key.size() < kShortestPartlyShown) return dots;
  const qsizetype dash = key.indexOf(QLatin1Char('-'));
  return key.left(dash < 0 ? 0 : dash + 1) + dots + key.right(kShownTail);
}

QString environment_lines(const app::ServerStatus& status, const std::string& api_key) {
  const QString key = api_key.empty() ? QStringLiteral("none") : QString::fromStdString(api_key);
  return QStringLiteral("export OPENAI_BASE_URL=http://%1/v1\nexport OPENAI_API_KEY=%2\n").arg(authority(status), key);
}

}  // namespace lathe::ui
