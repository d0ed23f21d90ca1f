// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cli_run.h"

#include <QTemporaryDir>
#include <cstdio>
#include <sstream>

#include "app/cli/command.h"
#include "kernels/api/check.h"

namespace lathe::tests {

CliRun run_cli(std::vector<std::string> arguments, const std::string& input) {
  const QTemporaryDir profile;
  qputenv("XDG_CONFIG_HOME", profile.path().toUtf8());
  qputenv("XDG_DATA_HOME", profile.path().toUtf8());
  qputenv("XDG_STATE_HOME", profile.path().toUtf8());
  qputenv("XDG_CACHE_HOME", profile.path().toUtf8());
  std::FILE* file = std::tmpfile();
  LATHE_CHECK(file != nullptr);
  std::fwrite(input.data(), 1, input.size(), file);
  std::fflush(file);
  std::rewind(file);
  std::ostringstream out, err;
  app::Terminal terminal{.out = out, .err = err, .in_fd = fileno(file)};
  CliRun run;
  run.code = app::run_command_line(arguments, terminal);
  std::fclose(file);
  run.out = out.str();
  run.err = err.str();
  return run;
}

engine::Json json_of(const CliRun& run) {
  if (run.code != 0) qFatal("%s", run.err.c_str());
  auto json = engine::parse_json(run.out, "stdout");
  if (!json) qFatal("%s: %s", json.error().message.c_str(), run.out.c_str());
  return *json;
}

}  // namespace lathe::tests
