// SPDX-License-Identifier: Apache-2.0
// Compiles chat templates and renders a conversation with each, and prints the median milliseconds of the thread's own time;
// then how fast an answer is told apart.
//   template_bench FILE... [--rounds N]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/api/text_template.h"
#include "engine/base/text_file.h"

namespace {

using namespace lathe::engine;

double thread_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// The median time of `rounds` runs.
template <class Job>
double median_ms(int rounds, Job&& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double start = thread_ms();
    work();
    times.push_back(thread_ms() - start);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

OrderedJson conversation(bool with_tools) {
  OrderedJson given;
  given["messages"] = OrderedJson::parse(
      R"([{"role": "user", "content": "What is the weather in Paris?"}, {"role": "assistant", "content": "Sunny."},
          {"role": "user", "content": "And in Rome?"}])");
  given["tools"] = nullptr;
  if (with_tools) {
    given["tools"] = OrderedJson::parse(R"([{"type": "function", "function": {"name": "weather", "description": "of a place",
      "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "its name"}},
      "required": ["city"]}}}])");
  }
  given["documents"] = nullptr;
  given["add_generation_prompt"] = true;
  given["bos_token"] = "<BOS>";
  given["eos_token"] = "<EOS>";
  return given;
}

void measure_template(const std::string& path, int rounds, std::vector<double>& compiles, std::vector<double>& renders) {
  const auto source = read_text_file(path, 1u << 20);
  if (!source) return fmt::print(stderr, "{}\n", source.error().message);
  const double compile = median_ms(rounds, [&] { (void)compile_text_template(*source); });
  const auto compiled = compile_text_template(*source);
  if (!compiled) return fmt::print(stderr, "{}: {}\n", path, compiled.error().message);
  OrderedJson given = conversation(true);
  bool renders_it = (*compiled)->render(given).has_value();
  if (!renders_it) given = conversation(false);
  renders_it = renders_it || (*compiled)->render(given).has_value();
  const double render = median_ms(rounds, [&] { (void)(*compiled)->render(given); });
  fmt::print("{:<52} compile {:6.3f} ms, render {:6.3f} ms{}\n", std::filesystem::path(path).stem().string(), compile,
             render, renders_it ? "" : " (refuses)");
  compiles.push_back(compile);
  renders.push_back(render);
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void measure_parser(int rounds) {
  std::string text = "<think>";
  while (text.size() < (1u << 20)) text += "Lorem ipsum dolor sit amet, a < b. ";
  text += "</think>";
  while (text.size() < (2u << 20))
    text += "<tool_call>{\"name\": \"f\", \"arguments\": {\"text\": \"Lorem ipsum\"}}</tool_call>\nAnd. ";
  const double ms = median_ms(rounds, [&] {
    auto parser = make_answer_parser({.formats = {"hermes", "qwen3"}});
    for (std::size_t at = 0; at < text.size(); at += 4) (void)(*parser)->feed(std::string_view(text).substr(at, 4));
    (void)(*parser)->finish();
  });
  fmt::print("an answer of {:.1f} MB in pieces of 4 bytes: {:.1f} MB/s\n", static_cast<double>(text.size()) / 1e6,
             static_cast<double>(text.size()) / ms / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 51;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rounds" && i + 1 < argc) rounds = std::stoi(argv[++i]);
    else files.emplace_back(argv[i]);
  }
  if (files.empty() || rounds < 1) return fmt::print(stderr, "template_bench FILE... [--rounds N]\n"), 2;
  std::vector<double> compiles, renders;
  for (const std::string& file : files) measure_template(file, rounds, compiles, renders);
  if (compiles.empty()) return 3;
  fmt::print("median of {} templates: compile {:.3f} ms, render {:.3f} ms; longest {:.3f} and {:.3f} ms\n", compiles.size(),
             median_of(compiles), median_of(renders), *std::max_element(compiles.begin(), compiles.end()),
             *std::max_element(renders.begin(), renders.end()));
  measure_parser(std::min(rounds, 7));
  return 0;
}
