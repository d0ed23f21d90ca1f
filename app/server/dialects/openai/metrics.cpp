// SPDX-License-Identifier: Apache-2.0
// GET /metrics: the engine's counters, gauges and histograms under vLLM's names.
// Source: Prometheus text format 0.0.4; vLLM's V1 metrics.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/server/dialects/openai/openai.h"
#include "app/server/escape.h"

namespace lathe::app::openai {
namespace {

using engine::EngineSnapshot;

struct Metric {
  std::string_view name, help;
  double (*value)(const EngineSnapshot&);
};

constexpr std::array kGauges = {
    Metric{"vllm:num_requests_running", "Requests in the running batch.",
           [](const EngineSnapshot& s) -> double { return s.n_running; }},
    Metric{"vllm:num_requests_waiting", "Requests that wait to be admitted.",
           [](const EngineSnapshot& s) -> double { return s.n_waiting; }},
    Metric{"vllm:kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.",
           [](const EngineSnapshot& s) { return s.kv_usage(); }},
    Metric{"lathe:kv_cache_reserved_tokens", "Token slots in blocks that are held but have no token: reservation waste.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.n_kv_reserved); }},
    Metric{"lathe:kv_cache_unfilled_tokens", "Token slots after the last token of KV blocks in use: internal waste.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.n_kv_unfilled); }},
};

constexpr std::array kCounters = {
    Metric{"vllm:prompt_tokens_total",
           "Prompt tokens, found in the prefix cache or computed: the sum of usage.prompt_tokens.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_prompt_tokens); }},
    Metric{"vllm:prompt_tokens_cached_total", "Prompt tokens found in the prefix cache: the sum of usage's cached_tokens.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_prefix_hits); }},
    Metric{"vllm:generation_tokens_total", "Tokens generated: the sum of usage.completion_tokens.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_generation_tokens); }},
    Metric{"lathe:jump_ahead_tokens_total",
           "Generated tokens that an output format forced, appended without a step for each.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_jumped_tokens); }},
    Metric{"vllm:num_preemptions_total", "Preemptions by the scheduler.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_preemptions); }},
    Metric{"vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_prefix_queries); }},
    Metric{"vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_prefix_hits); }},
    Metric{"lathe:prefill_tokens_total", "Prompt tokens computed, counted for each answer of a request.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_prefill_tokens); }},
    Metric{"lathe:padding_tokens_total", "Rows computed as padding, so that a batch keeps its shape.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_padding_tokens); }},
    Metric{"lathe:kv_cache_held_token_steps_total", "Token slots in held KV blocks, summed over the steps.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_kv_held); }},
    Metric{"lathe:kv_cache_reserved_token_steps_total", "Reservation waste, summed over the steps.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_kv_reserved); }},
    Metric{"lathe:kv_cache_unfilled_token_steps_total", "Internal waste, summed over the steps.",
           [](const EngineSnapshot& s) { return static_cast<double>(s.counters.n_kv_unfilled); }},
};

struct FinishedBy {
  std::string_view reason;
  std::uint64_t engine::EngineCounters::*count;
};
constexpr std::array kFinished = {
    FinishedBy{"stop", &engine::EngineCounters::n_finished_stop},
    FinishedBy{"length", &engine::EngineCounters::n_finished_length},
    FinishedBy{"abort", &engine::EngineCounters::n_finished_abort},
    FinishedBy{"error", &engine::EngineCounters::n_finished_error},
};

struct HistogramMetric {
  std::string_view name, help;
  engine::HistogramSnapshot EngineSnapshot::*histogram;
};
constexpr std::array kHistograms = {
    HistogramMetric{"vllm:time_to_first_token_seconds", "Time to the first token.", &EngineSnapshot::ttft_s},
    HistogramMetric{"vllm:inter_token_latency_seconds", "Time between two tokens of a request.", &EngineSnapshot::itl_s},
    HistogramMetric{"vllm:time_per_output_token_seconds", "Time between two tokens of a request, under the older name.",
                    &EngineSnapshot::itl_s},
    HistogramMetric{"vllm:e2e_request_latency_seconds", "Time from submission to the last token.", &EngineSnapshot::e2e_s},
    HistogramMetric{"vllm:request_queue_time_seconds", "Time from submission to admission.", &EngineSnapshot::queue_s},
    HistogramMetric{"vllm:request_prefill_time_seconds", "Time in prefill.", &EngineSnapshot::prefill_s},
    HistogramMetric{"vllm:request_decode_time_seconds", "Time in decode.", &EngineSnapshot::decode_s},
    HistogramMetric{"vllm:request_prompt_tokens", "Prompt lengths of ended requests; each prompt counts once.",
                    &EngineSnapshot::prompt_tokens},
    HistogramMetric{"vllm:request_generation_tokens", "Tokens generated by ended requests.",
                    &EngineSnapshot::generation_tokens},
};

/// Returns the shortest text that reads back as the same number; fmt ignores the locale's decimal comma.
std::string number_text(double number) { return fmt::format("{}", number); }

/// An engine of the server, under its name. A held embedding_model has an engine of its own.
struct MeasuredEngine {
  const engine::LoadedModel& model;
  std::shared_ptr<const EngineSnapshot> snapshot;
  std::string labels;
};

class MetricsText {
 public:
  /// Sets the labels of the samples that follow.
  void label(std::string labels) { labels_ = std::move(labels); }

  void head(std::string_view name, std::string_view help, std::string_view type) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void sample(std::string_view name, std::string_view more_labels, double value) {
    std::string labels = labels_;
    if (!more_labels.empty()) labels += (labels.empty() ? "" : ",") + std::string(more_labels);
    text_.append(name);
    if (!labels.empty()) text_ += "{" + labels + "}";
    text_ += " " + number_text(value) + "\n";
  }
  void histogram(const HistogramMetric& metric, const engine::HistogramSnapshot& histogram) {
    const std::string bucket = std::string(metric.name) + "_bucket";
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.bounds.size() && i < histogram.counts.size(); ++i) {
      below += histogram.counts[i];
      sample(bucket, "le=\"" + number_text(histogram.bounds[i]) + "\"", static_cast<double>(below));
    }
    sample(bucket, "le=\"+Inf\"", static_cast<double>(histogram.count));
    sample(std::string(metric.name) + "_sum", "", histogram.sum);
    sample(std::string(metric.name) + "_count", "", static_cast<double>(histogram.count));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string labels_, text_;
};

/// A sample of a metric of recurrent states. Samples of one metric follow each other; the first has its help.
struct StateSample {
  std::string_view name, help, type, labels;
  double (*value)(const engine::RecurrentStates&);
};
constexpr std::array kStateSamples = {
    StateSample{"lathe:state_slots", "Slots for the states of recurrent layers, one for each running request.", "gauge",
                "state=\"used\"", [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_slots_used); }},
    StateSample{"lathe:state_slots", "", "gauge", "state=\"free\"",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_slots - of.n_slots_used); }},
    StateSample{"lathe:state_snapshots", "Snapshots of recurrent states, from which the prefix cache continues.", "gauge",
                "state=\"held\"",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_snapshots_held); }},
    StateSample{"lathe:state_snapshots", "", "gauge", "state=\"free\"",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_snapshots - of.n_snapshots_held); }},
    StateSample{"lathe:state_snapshot_bytes", "Bytes of the snapshots that are held.", "gauge", "",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_snapshots_held * of.slot_bytes); }},
    StateSample{"lathe:state_snapshots_taken_total", "Snapshots of recurrent states taken.", "counter", "",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_snapshots_taken); }},
    StateSample{"lathe:state_snapshot_hits_total", "Requests that continued from a snapshot.", "counter", "",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_snapshot_hits); }},
    StateSample{"lathe:state_snapshots_evicted_total",
                "Snapshots lost to newer ones, or together with the KV block that ends their prefix.", "counter", "",
                [](const engine::RecurrentStates& of) { return static_cast<double>(of.n_snapshots_evicted); }},
};

/// States of recurrent layers and their snapshots; nothing if no engine has such layers.
void add_states(MetricsText& text, const std::vector<MeasuredEngine>& engines) {
  const auto has_states = [](const MeasuredEngine& of) { return of.snapshot->states.n_slots > 0; };
  if (std::ranges::none_of(engines, has_states)) return;
  for (auto begin = kStateSamples.begin(); begin != kStateSamples.end();) {
    const auto end =
        std::find_if(begin, kStateSamples.end(), [&](const StateSample& one) { return one.name != begin->name; });
    text.head(begin->name, begin->help, begin->type);
    for (const MeasuredEngine& of : engines) {
      if (!has_states(of)) continue;
      text.label(of.labels);
      for (const StateSample& one : std::span(begin, end)) text.sample(one.name, one.labels, one.value(of.snapshot->states));
    }
    begin = end;
  }
}

void add_windows(MetricsText& text, const EngineSnapshot& snapshot) {
  for (const engine::KvWindowState& of : snapshot.windows) {
    for (const auto& [state, n] : {std::pair("used", of.n_blocks_used), std::pair("cached", of.n_blocks_cached),
                                   std::pair("free", of.n_blocks_free)}) {
      text.sample("lathe:kv_window_blocks", fmt::format("window=\"{}\",state=\"{}\"", of.window, state), n);
    }
  }
}

void add_sources(MetricsText& text, const engine::EngineCounters& counters) {
  for (const auto& [source, n] : {std::pair("local_compute", counters.n_prompt_tokens - counters.n_prefix_hits),
                                  std::pair("local_cache_hit", counters.n_prefix_hits)}) {
    text.sample("vllm:prompt_tokens_by_source_total", fmt::format("source=\"{}\"", source), static_cast<double>(n));
  }
}

std::string cache_config(const MeasuredEngine& of) {
  auto config = fmt::format("block_size=\"{}\",num_gpu_blocks=\"{}\",cache_dtype=\"{}\",enable_prefix_caching=\"{}\"",
                            of.snapshot->block_size, of.snapshot->n_blocks, label_value(of.model.kv_cache_dtype),
                            of.model.options.enable_prefix_caching ? "True" : "False");
  if (of.model.division) config += fmt::format(",gpu_memory_utilization=\"{}\"", of.model.division->utilization);
  return config;
}

/// Writes each metric once, with samples of all engines.
std::string engine_metrics(const std::vector<MeasuredEngine>& engines) {
  MetricsText text;
  const auto for_each = [&](const auto& add) {
    for (const MeasuredEngine& of : engines) {
      text.label(of.labels);
      add(of);
    }
  };
  for (const Metric& gauge : kGauges) {
    text.head(gauge.name, gauge.help, "gauge");
    for_each([&](const MeasuredEngine& of) { text.sample(gauge.name, "", gauge.value(*of.snapshot)); });
  }
  if (std::ranges::any_of(engines, [](const MeasuredEngine& of) { return !of.snapshot->windows.empty(); })) {
    text.head("lathe:kv_window_blocks",
              "KV blocks of layers with a sliding window, in models that also have layers without it or with a longer one.",
              "gauge");
  }
  for_each([&](const MeasuredEngine& of) { add_windows(text, *of.snapshot); });
  add_states(text, engines);
  for (const Metric& counter : kCounters) {
    text.head(counter.name, counter.help, "counter");
    for_each([&](const MeasuredEngine& of) { text.sample(counter.name, "", counter.value(*of.snapshot)); });
  }
  text.head("vllm:prompt_tokens_by_source_total", "Prompt tokens by the source of their keys and values.", "counter");
  for_each([&](const MeasuredEngine& of) { add_sources(text, of.snapshot->counters); });
  text.head("vllm:request_success_total", "Requests that ended, by reason.", "counter");
  for_each([&](const MeasuredEngine& of) {
    for (const FinishedBy& finished : kFinished) {
      text.sample("vllm:request_success_total", "finished_reason=\"" + std::string(finished.reason) + "\"",
                  static_cast<double>(of.snapshot->counters.*finished.count));
    }
  });
  for (const HistogramMetric& metric : kHistograms) {
    text.head(metric.name, metric.help, "histogram");
    for_each([&](const MeasuredEngine& of) { text.histogram(metric, (*of.snapshot).*metric.histogram); });
  }
  text.head("vllm:cache_config_info", "How the KV cache was set up.", "gauge");
  for_each([&](const MeasuredEngine& of) { text.sample("vllm:cache_config_info", cache_config(of), 1); });
  return text.take();
}

MeasuredEngine measured(const engine::Engine& engine, const std::string& name, int index) {
  return {engine.model(), engine.snapshot(), fmt::format("model_name=\"{}\",engine=\"{}\"", label_value(name), index)};
}

std::string server_metrics(const Traffic& traffic) {
  MetricsText text;
  text.head("http_requests_total", "Requests answered, by class of status.", "counter");
  for (int hundreds = 2; hundreds <= 5; ++hundreds) {
    text.sample("http_requests_total", "status=\"" + std::to_string(hundreds) + "xx\"",
                static_cast<double>(traffic.of_class(hundreds)));
  }
  text.head("lathe:dialect_requests_total", "Requests answered, by protocol.", "counter");
  for (std::size_t i = 0; i < dialects().size(); ++i) {
    text.sample("lathe:dialect_requests_total", "dialect=\"" + label_value(dialects()[i]->name) + "\"",
                static_cast<double>(traffic.of_dialect(i)));
  }
  return text.take();
}

}  // namespace

/// Without a model only the server's own counters are returned.
engine::Result<http::Reply> answer_metrics(const ServerContext& context, const http::Request&) {
  http::Response response{200, "text/plain; version=0.0.4; charset=utf-8", {}, {}};
  if (const EngineLease engine = context.models.lease()) {
    std::vector<MeasuredEngine> engines = {measured(*engine, context.served_name(engine->model()), 0)};
    engine::Engine& embedder = engine->embedder();
    if (&embedder != &*engine) engines.push_back(measured(embedder, embedder.model().name, 1));
    response.body = engine_metrics(engines);
  }
  response.body += server_metrics(context.traffic);
  return response;
}

}  // namespace lathe::app::openai
