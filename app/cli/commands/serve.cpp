// SPDX-License-Identifier: Apache-2.0
// lathe serve: runs the server without the window.
#include <fmt/format.h>

#include <cstdlib>

#include "app/cli/model_command.h"
#include "app/server/base_url.h"

namespace lathe::app {

extern const Command kServeCommand;

namespace {

using engine::Result;

struct ServeFlags {
  std::string host, api_key;
  int port = 0, sse_keep_alive_interval = 0;
  bool any_model_name = false;
  std::vector<std::string> served_model_names, allowed_hosts, allowed_origins;
};

/// Options of the engine that this command adds in another form.
constexpr std::string_view kServedModelName = "served_model_name";

void add_flags(CLI::App& parser, ServeFlags& flags) {
  flags.host = ServerOptions().host;
  flags.port = ServerOptions().port;
  parser.add_option("--host", flags.host, "Address to listen on; an address outside this machine needs a key.")
      ->capture_default_str();
  add_number(parser, "--port", flags.port, 0, 65535, "Port to listen on; 0: a free port.");
  parser.add_option("--api-key", flags.api_key, "Key that clients must send; also read from LATHE_API_KEY or VLLM_API_KEY.")
      ->type_name("TEXT");
  parser
      .add_option("--allowed-hosts", flags.allowed_hosts,
                  "More names that clients may put in the Host header; a name without a port allows all ports.")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser.add_option("--allowed-origins", flags.allowed_origins, "Web origins that may use the server (CORS).")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser
      .add_option(
          "--served-model-name", flags.served_model_names,
          "Name under which the model is served; may be repeated: answers have the first. Default: the folder's name.")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  parser.add_flag("--any-model-name", flags.any_model_name, "Answer requests for a model of any name.");
  flags.sse_keep_alive_interval = ServerLimits().sse_keep_alive_interval_s;
  add_number(parser, "--sse-keep-alive-interval", flags.sse_keep_alive_interval, 0, 86400,
             "Seconds of silence after which a stream sends a comment, so that proxies keep the connection open; 0: never.");
}

std::string key_from_environment() {
  for (const char* name : {"LATHE_API_KEY", "VLLM_API_KEY"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

ServerOptions server_options(const ServeFlags& flags) {
  ServerOptions options;
  options.host = flags.host;
  options.port = static_cast<std::uint16_t>(flags.port);
  options.api_key = flags.api_key.empty() ? key_from_environment() : flags.api_key;
  options.allowed_hosts = flags.allowed_hosts;
  options.allowed_origins = flags.allowed_origins;
  if (!flags.served_model_names.empty()) {
    options.model_name = flags.served_model_names.front();
    options.other_model_names.assign(flags.served_model_names.begin() + 1, flags.served_model_names.end());
  }
  options.any_model_name = flags.any_model_name;
  options.limits.sse_keep_alive_interval_s = flags.sse_keep_alive_interval;
  return options;
}

int serve(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kServeCommand, terminal, {kServedModelName});
  ServeFlags flags;
  add_flags(command.parser(), flags);
  if (const auto code = command.parse(arguments)) return *code;
  command.set_log_level(LogLevel::info);
  command.set_log_name("serve");
  command.end_on_signal_with(kExitDone);
  Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  if (!flags.served_model_names.empty()) options->served_model_name = flags.served_model_names.front();
  if (const auto verdict = engine::validate(*options); !verdict) return command.fail(verdict.error());
  // Opens the port before the load, so that a taken port is reported before minutes of loading. Until the model is loaded
  // /health returns 503.
  Server& server = command.workbench().server();
  if (const auto started = server.start(server_options(flags)); !started) return command.fail(started.error());
  if (const auto loaded = command.load(*options); !loaded) {
    server.stop(0);
    return command.signals().requested() ? static_cast<int>(kExitDone) : command.fail(loaded.error());
  }
  const ServerStatus status = server.status();
  terminal.out << "listening on " << address_url(status.host, status.port) << std::endl;
  command.signals().wait(std::chrono::milliseconds(-1));
  command.begin_end();
  command.print_note("Stopping.");
  return kExitDone;  // the workbench gives running streams their grace period as it is destroyed
}

}  // namespace

extern constexpr Command kServeCommand = {.name = "serve", .help = "Serve a model over HTTP.", .run = serve};

}  // namespace lathe::app
