// SPDX-License-Identifier: Apache-2.0
// The rows of the catalogue of bad inputs that name a time: what it takes here beside what it may take. Measured, not
// asserted: the machine may be busy with something else.
#include <fmt/format.h>
#include <sys/resource.h>
#include <QCoreApplication>
#include <QTemporaryDir>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "app/api/workbench.h"
#include "engine/api/checkpoint.h"
#include "tests/support/bad_bodies.h"
#include "tests/support/fake_loader.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/server_fixture.h"
#include "tests/support/tiny_model.h"

using namespace lathe;
using tests::HttpClient;
using tests::ServerFixture;

namespace {

double ms_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// CPU time of all threads of this process, so that other programs' share of the machine does not count.
double cpu_ms_of(const std::function<void()>& work) {
  const auto now_ms = [] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
  };
  const double begin = now_ms();
  work();
  return now_ms() - begin;
}

double rss_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void print(const char* row, const std::string& what, double measured, double limit, const char* unit) {
  fmt::print("{:<5}{:<58}{:>10.1f} of {:>8.1f} {:<4}{}\n", row, what, measured, limit, unit,
             measured <= limit ? "" : "  OVER");
  std::fflush(stdout);
}

/// D3: 1 s of CPU before a body is refused.
void bad_json_bodies() {
  ServerFixture fixture;
  std::string wide = R"({"prompt":"ab")";
  for (int i = 0; i < 1'000'001; ++i) wide += ",\"k" + std::to_string(i) + "\":0";
  const std::string nested = R"({"prompt":)" + std::string(16u << 20, '[');
  const std::string text = R"({"prompt":")" + std::string(31u << 20, 'x') + "\",\"n\":0}";
  for (const auto& [name, body] : {std::pair{"1,000,001 keys", wide + "}"},
                                   {"16 Mi open brackets", nested},
                                   {"31 MiB of prompt beside a bad field", text}}) {
    int status = 0;
    const double ms =
        cpu_ms_of([&] { status = HttpClient(fixture.port()).post("/v1/completions", std::string_view(body)).status; });
    print("S3", fmt::format("{}: {}, CPU", name, status), ms, 1000, "ms");
  }
  double slowest = 0;
  for (const tests::BadFields& bad : tests::bad_fields()) {
    const std::string body = tests::completion_with(bad.text);
    slowest =
        std::max(slowest, cpu_ms_of([&] { HttpClient(fixture.port()).post("/v1/completions", std::string_view(body)); }));
  }
  print("S3", "the slowest of the bad fields of S4, S5 and S8, CPU", slowest, 1000, "ms");
}

/// From the client's leaving to the end of its work; one step of the engine takes no time here.
double leaving_ms(const char* how, bool pipelined) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) {
    ServerFixture fixture;
    fixture.engine().pause();
    HttpClient client(fixture.port());
    const std::string request =
        client.request("POST", "/v1/completions", R"({"prompt":"ab","stream":true,"ignore_eos":true})");
    client.send(request);
    client.read_head();
    fixture.engine().step(1);
    client.read_event();
    if (pipelined) client.send(request);
    samples.push_back(ms_of([&] {
      if (std::string_view(how) == "half close") client.half_close();
      else if (std::string_view(how) == "reset") client.reset();
      else client.close();
      fixture.engine().wait_for_active(0);
    }));
  }
  return *std::max_element(samples.begin(), samples.end());
}

void leaving() {
  for (const char* how : {"close", "half close", "reset"}) {
    for (const bool pipelined : {false, true}) {
      const std::string what = fmt::format("{}{}, slowest of 20", how, pipelined ? " behind an unread request" : "");
      print("S12", what, leaving_ms(how, pipelined), 100, "ms");
    }
  }
}

std::unique_ptr<app::Workbench> workbench_in(const QTemporaryDir& profile,
                                             const std::shared_ptr<tests::LoaderScript>& script) {
  app::WorkbenchOptions options;
  options.profile_dir = profile.path().toStdString();
  options.loader = tests::fake_loader(script);
  options.log.to_stderr = false;
  return std::move(*app::Workbench::create(std::move(options)));
}

/// With a stream over HTTP whose client never reads, and one in the window.
void closing() {
  const QTemporaryDir profile;
  const auto script = std::make_shared<tests::LoaderScript>();
  script->engine.max_model_len = 1'000'000;
  script->engine.n_blocks = 500'000;
  script->runner->before_run = [](const auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  auto workbench = workbench_in(profile, script);
  if (!workbench->models().load(tests::fake_options()) || !workbench->models().wait()) return;
  app::ServerOptions options;
  options.port = 0;
  if (!workbench->server().start(options)) return;
  HttpClient deaf(workbench->server().status().port);
  deaf.send(
      deaf.request("POST", "/v1/completions", R"({"prompt":"ab","stream":true,"ignore_eos":true,"max_tokens":100000})"));
  deaf.read_head();
  const auto handle = *workbench->models().lease()->submit(tests::greedy_request({7, 8, 9}, 100'000));
  workbench->settings().set("server/port", 8123);
  print("U1", "end of the workbench while two streams run, 100 ms a step", ms_of([&] { workbench.reset(); }), 3000, "ms");
}

void starting() {
  const QTemporaryDir profile;
  const auto script = std::make_shared<tests::LoaderScript>();
  {
    const auto workbench = workbench_in(profile, script);
    const std::int64_t chat = *workbench->history().create_chat("long");
    for (int i = 0; i < 2000; ++i) {
      if (!workbench->history().add_message(chat, {0, "user", {{std::string(2000, 'x'), "", false}}, 0}, -1)) return;
    }
  }
  std::unique_ptr<app::Workbench> workbench;
  const double ms = ms_of([&] {
    workbench = workbench_in(profile, script);
    const auto chats = workbench->history().chats();
    if (!chats.empty()) static_cast<void>(workbench->history().messages(chats.front().id));
  });
  print("U2", "start, and 2,000 messages of one chat read", ms, 2000, "ms");
}

void many_tensors() {
  const tests::TinyModelCopy model;
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += fmt::format("{}\"t{}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{},{}]}}", i == 0 ? "" : ",", i,
                          4 * i, 4 * i + 4);
  }
  tests::write_file(model.file("model.safetensors"), tests::safetensors_bytes(header + "}", 400'000));
  std::string verdict;
  const double before = rss_mib();
  const double ms = cpu_ms_of([&] {
    const auto info = engine::inspect_checkpoint(model.path());
    verdict = info ? "taken" : "refused";
  });
  print("L3", "header of 100,000 tensors: " + verdict + ", CPU", ms, 1000, "ms");
  print("L3", "the same, peak memory above what was there", rss_mib() - before, 64, "MiB");
}

/// O(n log n): a text twice as long may take a little more than twice the time.
void tokenizing() {
  engine::EngineOptions options;
  options.model = tests::tiny_model_path();
  const auto engine = engine::load_engine(options);
  if (!engine) return;
  const engine::Tokenizer& tokenizer = (*engine)->tokenizer();
  for (const auto& [name, unit] : {std::pair{"one letter", "a"}, {"blanks", " "}, {"words", "the cat sat "}}) {
    const auto encode_ms = [&tokenizer, unit = std::string(unit)](std::size_t n_bytes) {
      std::string text;
      while (text.size() < n_bytes) text += unit;
      double best = 1e300;
      for (int i = 0; i < 3; ++i) best = std::min(best, ms_of([&] { tokenizer.encode(text, false, false); }));
      return best;
    };
    const double half = encode_ms(1u << 18), whole = encode_ms(1u << 19);
    print("L17", fmt::format("encode {}: time of 512 KiB over time of 256 KiB", name), whole / half, 2.5, "x");
    print("L17", fmt::format("encode {}: 512 KiB", name), whole, 1000, "ms");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  many_tensors();  // first: its peak of memory must be its own
  bad_json_bodies();
  leaving();
  closing();
  starting();
  tokenizing();
}
