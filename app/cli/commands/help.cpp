// SPDX-License-Identifier: Apache-2.0
// lathe help: prints the manual in the terminal.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "app/api/manual.h"
#include "app/cli/command.h"
#include "app/cli/model_command.h"
#include "app/cli/terminal_markdown.h"
#include "app/cli/wrapped_text.h"
#include "app/log/printable.h"
#include "engine/api/option_value.h"

namespace lathe::app {

extern const Command kHelpCommand;

namespace {

constexpr std::size_t kUsualWidth = 80, kMostWidth = 110, kNameWidth = 16;
constexpr std::string_view kTaskStart = "You want to ";

/// Returns the terminal's width, limited to what is easy to read.
std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return std::min<std::size_t>(size.ws_col, kMostWidth);
}

bool has_color() {
  const char* const off = std::getenv("NO_COLOR");
  return off == nullptr || *off == '\0';
}

/// Returns "Run a checkpoint." for "You want to run a checkpoint."
std::string task_text(const ManualPage& page) {
  std::string task = page.task();
  if (task.starts_with(kTaskStart)) task.erase(0, kTaskStart.size());
  if (!task.empty()) task[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(task[0])));
  return task;
}

std::string topic_list(std::size_t width) {
  std::string out = "Usage: lathe help [TOPIC | COMMAND | OPTION]\n\nTopics of the manual:\n";
  for (const ManualPage& page : manual_pages()) {
    std::string name = fmt::format("  {:<{}}", page.name, kNameWidth - 2);
    for (const std::string& line : wrap(task_text(page), width - kNameWidth)) {
      out += name + line + '\n';
      name.assign(kNameWidth, ' ');
    }
  }
  out += "\nThe help of a command:";
  for (const Command* command : command_table()) {
    if (find_manual_page(command->name) == nullptr && command != &kHelpCommand) out += fmt::format(" {}", command->name);
  }
  return out + '\n';
}

const Command* find_command(std::string_view name) {
  for (const Command* command : command_table()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

int unknown_topic(const std::string& topic, Terminal& terminal) {
  std::vector<std::string_view> names;
  for (const ManualPage& page : manual_pages()) names.push_back(page.name);
  for (const Command* command : command_table()) names.push_back(command->name);
  const std::string_view nearest = engine::nearest_name(std::string_view(topic).substr(0, 64), names);
  terminal.err << fmt::format("lathe help: error: the manual has no topic '{}'", printable(topic, 64));
  if (!nearest.empty()) terminal.err << fmt::format("; did you mean '{}'?", nearest);
  terminal.err << " ('lathe help' lists the topics)\n";
  return kExitUsage;
}

/// Prints wrapped text on a terminal, and plain Markdown to a file or a pipe.
void print_page(const ManualPage& page, Terminal& terminal) {
  if (terminal.out_is_terminal) terminal.out << terminal_markdown(page.text, terminal_width(), has_color());
  else terminal.out << page.text;
}

/// Prints the section that defines an option ("--top-k", "top_k") or a route. False: the manual does not define it.
bool print_entry(const std::string& topic, Terminal& terminal) {
  const ManualEntry* entry = nullptr;
  if (topic.find('/') == topic.npos) {
    entry = find_manual_entry(option_name(topic.starts_with("--") ? topic : "--" + topic));
  } else {
    for (const std::string_view method : {"", "GET ", "POST "}) {
      if (entry == nullptr) entry = find_manual_entry(std::string(method) + topic);
    }
  }
  if (entry == nullptr) return false;
  for (const ManualSection& section : sections_of(*entry->page)) {
    if (section.heading == entry->heading) print_page({entry->page->name, section.text}, terminal);
  }
  return true;
}

int print_topic(const std::string& topic, Terminal& terminal) {
  if (const ManualPage* const page = find_manual_page(topic)) {
    print_page(*page, terminal);
    return kExitDone;
  }
  if (const Command* const command = find_command(topic)) return command->run({"--help"}, terminal);
  return print_entry(topic, terminal) ? static_cast<int>(kExitDone) : unknown_topic(topic, terminal);
}

int help(const std::vector<std::string>& arguments, Terminal& terminal) {
  // An option as argument is a topic, not a flag of this command.
  if (arguments.size() == 1 && arguments.front().starts_with("--") && arguments.front() != "--help")
    return print_topic(arguments.front(), terminal);
  CLI::App parser(std::string(kHelpCommand.help), program_name(kHelpCommand));
  std::string topic;
  parser.add_option("TOPIC", topic,
                    "A page of the manual, a command, an option (--top-k) or a route; default: list the topics.");
  parser.footer("In a terminal a page is wrapped to the width of the terminal; elsewhere it is Markdown.");
  if (const auto code = parse(parser, arguments, terminal)) return *code;
  if (topic.empty()) {
    terminal.out << topic_list(terminal.out_is_terminal ? terminal_width() : kUsualWidth);
    return kExitDone;
  }
  return print_topic(topic, terminal);
}

}  // namespace

extern constexpr Command kHelpCommand{"help", "Read the manual: the list of topics, a page, or the help of a command.",
                                      help};

}  // namespace lathe::app
