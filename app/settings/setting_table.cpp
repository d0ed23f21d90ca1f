// SPDX-License-Identifier: Apache-2.0
// THE TABLE of settings.
#include "app/api/settings.h"

namespace lathe::app {
namespace {

using engine::Json;

std::vector<SettingDescriptor> make_table() {
  return {
      // ---- general
      {"general/confirm_close", true, "Ask before running requests, a sweep or the server are ended."},
      {"general/load_at_start", true, "Load the last model (at the first start the bundled one) when the window opens."},
      // ---- appearance
      {"appearance/theme", "system", "Theme: system, light or dark."},
      {"appearance/strong_outlines", false, "Draw the outlines of fields darker."},
      {"appearance/reduced_motion", false, "No animations."},
      // ---- the window's own state, without its geometry
      {"window/page", "chat", "The page that is shown."},
      {"window/layout", "chat", "The last layout preset: chat, serving, benchmark, everything."},
      // ---- chat
      {"chat/current", 0, "ID of the open chat; 0: a new chat."},
      {"chat/draft", "", "Text in the composer, as earlier builds stored it: moved to draft.txt at the next start."},
      {"chat/role", "user", "Role of the composer: user, assistant or system."},
      {"chat/enter_sends", true, "Enter sends and Shift+Enter starts a new line; off: the other way round."},
      {"chat/render_markdown", true, "Show answers formatted; off: as written."},
      {"chat/overflow", "ask", "When the context is full: ask, drop_oldest or stop."},
      // ---- sampling parameters of the next request
      {"sampling/preset", "Model", "Name of the chosen preset; Model: what the checkpoint recommends."},
      {"sampling/current", Json::object(), "Parameters that differ from the preset, by vLLM's names."},
      {"sampling/presets", Json::object(), "The user's presets: name to parameters."},
      // ---- server
      {"server/host", "127.0.0.1", "Address to listen on."},
      {"server/port", 8000, "Port to listen on; 0: a free one.", 0, 65535},
      {"server/api_key", "", "Key that clients must send; empty: none. Needed for addresses other than this machine."},
      {"server/model_name", "", "Name under which the model is served; empty: the folder's name."},
      {"server/other_model_names", Json::array(), "Further names that clients may use for the model."},
      {"server/any_model_name", false, "Answer requests for a model of any name."},
      {"server/autostart", false, "Switch the server on when a model is loaded at start."},
      {"server/allowed_hosts", Json::array(), "Names that clients may put in the Host header besides the address itself."},
      {"server/allowed_origins", Json::array(), "Web origins that may use the server (CORS); empty: none."},
      {"server/dialects_off", Json::array(), "Protocols that are switched off."},
      {"server/max_body_mib", 32, "Largest request in MiB.", 1, 4096},
      {"server/max_connections", 4096, "Connections at one time.", 1, 65536},
      {"server/header_timeout_s", 10, "Seconds within which the header of a request must arrive.", 1, 86400},
      {"server/body_idle_timeout_s", 30, "Longest pause in seconds within the body of a request.", 1, 86400},
      {"server/write_stall_timeout_s", 60, "Seconds after which a client that reads nothing is disconnected.", 1, 86400},
      {"server/sse_keep_alive_interval_s", 10, "Seconds of silence after which a stream sends a comment; 0: never.", 0,
       86400},
      {"server/idle_timeout_s", 75, "Seconds after which an idle connection is closed.", 1, 86400},
      // ---- requests, monitor, log
      {"requests/filter", "", "Filter of the requests table."},
      {"requests/paused", false, "The requests table does not follow new requests."},
      {"monitor/window_s", 30, "Seconds shown in the charts.", 1, 86400},
      {"log/level", "info", "Lowest level shown: debug, info, warning or error."},
      {"log/follow", true, "Scroll to new lines."},
      {"log/categories_off", Json::array(), "Categories that are hidden."},
      {"log/to_file", true, "Write the log to a file as well."},
      // ---- library
      {"library/folders", Json::array(), "Folders that are searched for models."},
      {"library/standard_folders", true, "Search the Hugging Face cache and the folders of LM Studio and ollama, too."},
      {"library/recent", Json::array(), "Models opened before, newest first."},
      {"library/last_model", "", "The model that was loaded last."},
      // ---- bench
      {"bench/prompt_tokens", 512, "Length of the prompt.", 0, 1048576},
      {"bench/output_tokens", 128, "Length of the answer.", 0, 1048576},
      {"bench/concurrency", Json::array({1, 4, 16}), "Streams at one time."},
      {"bench/repeats", 3, "Samples of each measurement.", 1, 1000},
  };
}

}  // namespace

const std::vector<SettingDescriptor>& setting_table() {
  static const std::vector<SettingDescriptor> table = make_table();
  return table;
}

}  // namespace lathe::app
