// SPDX-License-Identifier: GPL-3.0-or-later
// Server settings: the options of the server as the user's settings have them.
#pragma once

#include <QString>

#include "app/api/server.h"
#include "app/api/settings.h"

namespace lathe::ui {

app::ServerOptions server_options(const app::Settings& settings);
/// True if only this computer can reach the host: 127.0.0.0/8, ::1, localhost.
bool is_this_computer(const QString& host);
/// "127.0.0.1:8000", "[::1]:8000": the address of the server for a client on this computer; a wildcard host is replaced by
/// loopback.
QString authority(const app::ServerStatus& status);
/// "lathe-" and 32 random hexadecimal digits.
QString new_api_key();
/// The key with its middle hidden: "lathe-········7f3a". Short keys are hidden completely.
QString masked(const QString& key);
/// Shell lines that point clients of the OpenAI library at this server.
QString environment_lines(const app::ServerStatus& status, const std::string& api_key);

}  // namespace lathe::ui
