// SPDX-License-Identifier: GPL-3.0-or-later
// THE TABLE of actions: one line each, in the order of the menus.
#include <array>

#include "ui/actions/actions.h"

namespace lathe::ui {
namespace {

using enum ActionMenu;

// clang-format off
constexpr ActionDescriptor kTable[] = {
    // File
    {"chats.new", QT_TRANSLATE_NOOP("Actions", "&New chat"), file, "chat-small", "Ctrl+N",
     QT_TRANSLATE_NOOP("Actions", "Start an empty chat")},
    {"chats.close", QT_TRANSLATE_NOOP("Actions", "&Close chat"), file, "", "Ctrl+W",
     QT_TRANSLATE_NOOP("Actions", "Leave this chat; it stays in the list"), {}},
    {"model.open", QT_TRANSLATE_NOOP("Actions", "&Open a model…"), file, "folder", "Ctrl+O",
     QT_TRANSLATE_NOOP("Actions", "Choose the folder of a Hugging Face checkpoint"), {}, false, true},
    {"chat.export_markdown", QT_TRANSLATE_NOOP("Actions", "Export chat as &Markdown…"), file, "export", "",
     QT_TRANSLATE_NOOP("Actions", "Write the shown messages to a Markdown file"), Fact::has_messages, false, true},
    {"chat.export_json", QT_TRANSLATE_NOOP("Actions", "Export chat as &JSON…"), file, "export", "",
     QT_TRANSLATE_NOOP("Actions", "Write the shown messages as OpenAI messages"), Fact::has_messages},
    {"chat.export_sharegpt", QT_TRANSLATE_NOOP("Actions", "Export chat as &ShareGPT…"), file, "export", "",
     QT_TRANSLATE_NOOP("Actions", "Write the shown messages in ShareGPT's form"), Fact::has_messages},
    {"chats.import", QT_TRANSLATE_NOOP("Actions", "&Import chats…"), file, "", "",
     QT_TRANSLATE_NOOP("Actions", "Add the chats of JSON or ShareGPT files to the list")},
    {"app.quit", QT_TRANSLATE_NOOP("Actions", "&Quit"), file, "power", "Ctrl+Q",
     QT_TRANSLATE_NOOP("Actions", "Stop everything and quit"), {}, false, true},
    // Edit
    {"edit.undo", QT_TRANSLATE_NOOP("Actions", "&Undo"), edit, "undo", "Ctrl+Z",
     QT_TRANSLATE_NOOP("Actions", "Undo the last deletion"), Fact::can_undo},
    {"edit.redo", QT_TRANSLATE_NOOP("Actions", "&Redo"), edit, "", "Ctrl+Shift+Z; Ctrl+Y",
     QT_TRANSLATE_NOOP("Actions", "Delete again what was restored last"), Fact::can_redo},
    {"chat.copy_reply", QT_TRANSLATE_NOOP("Actions", "&Copy reply as Markdown"), edit, "copy", "Ctrl+Shift+C",
     QT_TRANSLATE_NOOP("Actions", "Copy the last reply"), Fact::has_reply, false, true},
    {"chat.find", QT_TRANSLATE_NOOP("Actions", "&Find in chat"), edit, "search", "Ctrl+F",
     QT_TRANSLATE_NOOP("Actions", "Search the messages of this chat"), {}, false, true},
    {"chat.find_next", QT_TRANSLATE_NOOP("Actions", "Find &next"), edit, "", "F3",
     QT_TRANSLATE_NOOP("Actions", "Go to the next message that matches")},
    {"chat.find_previous", QT_TRANSLATE_NOOP("Actions", "Find p&revious"), edit, "", "Shift+F3",
     QT_TRANSLATE_NOOP("Actions", "Go to the previous message that matches")},
    // View
    {"view.palette", QT_TRANSLATE_NOOP("Actions", "Command &palette"), view, "search", "Ctrl+Shift+P; Ctrl+Alt+I",
     QT_TRANSLATE_NOOP("Actions", "Find any action by its name")},
    {"view.side_docks", QT_TRANSLATE_NOOP("Actions", "Show &side docks"), view, "dock-left", "Ctrl+B",
     QT_TRANSLATE_NOOP("Actions", "Show or hide the docks at the left and right"), {}, false, true},
    {"view.left_docks", QT_TRANSLATE_NOOP("Actions", "&Left docks"), view, "dock-left", "",
     QT_TRANSLATE_NOOP("Actions", "Show or hide the docks at the left"), {}, true},
    {"view.bottom_docks", QT_TRANSLATE_NOOP("Actions", "&Bottom docks"), view, "dock-bottom", "",
     QT_TRANSLATE_NOOP("Actions", "Show or hide the docks at the bottom"), {}, true},
    {"view.right_docks", QT_TRANSLATE_NOOP("Actions", "&Right docks"), view, "dock-right", "",
     QT_TRANSLATE_NOOP("Actions", "Show or hide the docks at the right"), {}, true},
    {"view.maximise_dock", QT_TRANSLATE_NOOP("Actions", "&Maximise dock"), view, "fullscreen", "Ctrl+Shift+Return",
     QT_TRANSLATE_NOOP("Actions", "Show the dock with the focus in place of the page, or move it back")},
    {"view.freeze_charts", QT_TRANSLATE_NOOP("Actions", "&Freeze charts"), view, "freeze", "F9",
     QT_TRANSLATE_NOOP("Actions", "Stop updating the charts"), {}, true, true},
    {"view.full_screen", QT_TRANSLATE_NOOP("Actions", "Full &screen"), view, "fullscreen", "F11",
     QT_TRANSLATE_NOOP("Actions", "Use the whole screen"), {}, true},
    {"layout.chat", QT_TRANSLATE_NOOP("Actions", "Layout &Chat"), layout, "", "",
     QT_TRANSLATE_NOOP("Actions", "Chat page with Model and Sampling")},
    {"layout.serving", QT_TRANSLATE_NOOP("Actions", "Layout &Serving"), layout, "", "",
     QT_TRANSLATE_NOOP("Actions", "Serve page with Requests, Monitor and KV cache")},
    {"layout.benchmark", QT_TRANSLATE_NOOP("Actions", "Layout &Benchmark"), layout, "", "",
     QT_TRANSLATE_NOOP("Actions", "Bench page without docks")},
    {"layout.everything", QT_TRANSLATE_NOOP("Actions", "Layout &Everything"), layout, "", "",
     QT_TRANSLATE_NOOP("Actions", "All docks in their usual places")},
    {"layout.reset", QT_TRANSLATE_NOOP("Actions", "&Reset layout"), layout, "reset", "",
     QT_TRANSLATE_NOOP("Actions", "Restore the layout of the first start"), {}, false, true},
    // Model
    {"model.load", QT_TRANSLATE_NOOP("Actions", "&Load with shown settings"), model, "model", "Ctrl+L",
     QT_TRANSLATE_NOOP("Actions", "Load or reload the chosen model with the settings of the Model dock"),
     Fact::not_loading | Fact::can_load},
    {"model.cancel", QT_TRANSLATE_NOOP("Actions", "&Cancel loading"), model, "close", "",
     QT_TRANSLATE_NOOP("Actions", "Stop loading and free the memory"), Fact::loading},
    {"model.unload", QT_TRANSLATE_NOOP("Actions", "&Unload"), model, "eject", "Ctrl+Shift+L",
     QT_TRANSLATE_NOOP("Actions", "Remove the model from memory"), Fact::model_ready},
    {"model.revert", QT_TRANSLATE_NOOP("Actions", "&Revert changed settings"), model, "undo", "",
     QT_TRANSLATE_NOOP("Actions", "Restore the settings that the model was loaded with"), Fact::changed_settings, false, true},
    {"model.defaults", QT_TRANSLATE_NOOP("Actions", "Reset to &defaults"), model, "reset", "",
     QT_TRANSLATE_NOOP("Actions", "Set every setting of the model to its default")},
    // Chat
    {"chat.send", QT_TRANSLATE_NOOP("Actions", "&Send"), chat, "send", "Ctrl+Return",
     QT_TRANSLATE_NOOP("Actions", "Send the message and generate a reply"), Fact::can_chat | Fact::chat_idle},
    {"chat.stop", QT_TRANSLATE_NOOP("Actions", "S&top"), chat, "stop", "Esc",
     QT_TRANSLATE_NOOP("Actions", "Stop the reply that is being generated"), Fact::chat_running},
    {"chat.insert", QT_TRANSLATE_NOOP("Actions", "&Insert without a reply"), chat, "plus", "Ctrl+I",
     QT_TRANSLATE_NOOP("Actions", "Add the text as a message of the chosen role, without generating a reply"), Fact::chat_idle},
    {"chat.regenerate", QT_TRANSLATE_NOOP("Actions", "&Regenerate"), chat, "regenerate", "Ctrl+R",
     QT_TRANSLATE_NOOP("Actions", "Generate the last reply again and keep the old one as a version"),
     Fact::can_chat | Fact::chat_idle | Fact::has_messages, false, true},
    {"chat.continue", QT_TRANSLATE_NOOP("Actions", "&Continue reply"), chat, "continue", "Alt+Return",
     QT_TRANSLATE_NOOP("Actions", "Continue the last reply"), Fact::can_chat | Fact::chat_idle | Fact::has_reply},
    {"chat.edit", QT_TRANSLATE_NOOP("Actions", "&Edit message"), chat, "edit", "F2",
     QT_TRANSLATE_NOOP("Actions", "Edit the message with the focus, or the last one"), Fact::chat_idle | Fact::has_messages},
    {"chat.delete", QT_TRANSLATE_NOOP("Actions", "&Delete message"), chat, "delete", "Ctrl+Shift+Del",
     QT_TRANSLATE_NOOP("Actions", "Delete the message with the focus, or the last one"), Fact::chat_idle | Fact::has_messages},
    {"chat.previous_version", QT_TRANSLATE_NOOP("Actions", "&Previous version"), chat, "chevron-left", "Alt+Left",
     QT_TRANSLATE_NOOP("Actions", "Show the version of the message before this one, with its replies"), Fact::chat_idle | Fact::has_messages},
    {"chat.next_version", QT_TRANSLATE_NOOP("Actions", "Ne&xt version"), chat, "chevron-right", "Alt+Right",
     QT_TRANSLATE_NOOP("Actions", "Show the version of the message after this one, with its replies"), Fact::chat_idle | Fact::has_messages},
    {"chat.branch", QT_TRANSLATE_NOOP("Actions", "&Branch here"), chat, "branch", "Ctrl+Shift+B",
     QT_TRANSLATE_NOOP("Actions", "Start a new chat with the messages up to this one"), Fact::has_messages},
    {"chat.cycle_role", QT_TRANSLATE_NOOP("Actions", "Cycle composer r&ole"), chat, "", "Ctrl+Shift+M",
     QT_TRANSLATE_NOOP("Actions", "Switch between user, assistant and system"), {}, false, true},
    // Server
    {"server.toggle", QT_TRANSLATE_NOOP("Actions", "&Start or stop the server"), server, "power", "F6",
     QT_TRANSLATE_NOOP("Actions", "Turn the server on or off"), Fact::server_off_or_on},
    {"server.test", QT_TRANSLATE_NOOP("Actions", "Send &test request"), server, "play", "",
     QT_TRANSLATE_NOOP("Actions", "Send a request to the server and show its answer")},
    {"server.copy_url", QT_TRANSLATE_NOOP("Actions", "Copy &address"), server, "link", "",
     QT_TRANSLATE_NOOP("Actions", "Copy the address of the server"), {}, false, true},
    {"server.copy_curl", QT_TRANSLATE_NOOP("Actions", "Copy as &cURL"), server, "copy", "",
     QT_TRANSLATE_NOOP("Actions", "Copy a command that works without changes")},
    // Bench
    {"bench.start", QT_TRANSLATE_NOOP("Actions", "&Start the sweep"), bench, "play", "F5",
     QT_TRANSLATE_NOOP("Actions", "Measure the plan of the Bench page")},
    {"bench.pause", QT_TRANSLATE_NOOP("Actions", "&Pause or resume"), bench, "pause", "",
     QT_TRANSLATE_NOOP("Actions", "Pause after the current run, or resume")},
    {"bench.stop", QT_TRANSLATE_NOOP("Actions", "S&top the sweep"), bench, "stop", "Shift+F5",
     QT_TRANSLATE_NOOP("Actions", "Stop measuring and keep the results")},
    // Tools
    {"requests.clear", QT_TRANSLATE_NOOP("Actions", "Clear &requests"), tools, "clear", "",
     QT_TRANSLATE_NOOP("Actions", "Empty the table of requests")},
    {"log.copy_diagnostics", QT_TRANSLATE_NOOP("Actions", "Copy &diagnostics"), tools, "copy", "",
     QT_TRANSLATE_NOOP("Actions", "Copy versions, machine, model, settings and the end of the log")},
    // Settings
    {"settings.open", QT_TRANSLATE_NOOP("Actions", "&Settings…"), settings, "settings", "Ctrl+,",
     QT_TRANSLATE_NOOP("Actions", "Appearance, chat and model folders")},
    {"settings.theme_light", QT_TRANSLATE_NOOP("Actions", "&Light theme"), settings, "", "",
     QT_TRANSLATE_NOOP("Actions", "Dark text on a light background"), {}, false, true},
    {"settings.theme_dark", QT_TRANSLATE_NOOP("Actions", "&Dark theme"), settings, "theme", "",
     QT_TRANSLATE_NOOP("Actions", "Light text on a dark background")},
    {"settings.theme_system", QT_TRANSLATE_NOOP("Actions", "&System theme"), settings, "", "",
     QT_TRANSLATE_NOOP("Actions", "Follow the theme of the desktop")},
    // Help
    {"help.manual", QT_TRANSLATE_NOOP("Actions", "&Manual"), help, "help", "F1",
     QT_TRANSLATE_NOOP("Actions", "Open the manual; F1 opens it at the control with the focus")},
    {"help.shortcuts", QT_TRANSLATE_NOOP("Actions", "&Keyboard shortcuts"), help, "keyboard", "",
     QT_TRANSLATE_NOOP("Actions", "List every action and its keys"), {}, false, true},
    {"help.about", QT_TRANSLATE_NOOP("Actions", "&About Lathe"), help, "info", "",
     QT_TRANSLATE_NOOP("Actions", "Version, licence and privacy")},
};
// clang-format on

}  // namespace

std::span<const ActionDescriptor> action_table() { return kTable; }

}  // namespace lathe::ui
