// SPDX-License-Identifier: GPL-3.0-or-later
// The server's options as the user's settings have them.
#pragma once

#include <QString>

#include "app/api/server.h"
#include "app/api/settings.h"

namespace lathe::ui {

app::ServerOptions server_options(const app::Settings& settings);
/// "lathe-" and 32 random hexadecimal digits.
QString new_api_key();
/// The key with its middle hidden: "lathe-········7f3a". Short keys are hidden whole.
QString masked(const QString& key);
/// Shell lines that point clients of the OpenAI library at this server.
QString environment_lines(const app::ServerStatus& status, const std::string& api_key);

}  // namespace lathe::ui
