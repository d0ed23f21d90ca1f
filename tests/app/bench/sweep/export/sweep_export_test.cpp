// SPDX-License-Identifier: Apache-2.0
// A sweep as a page and as a drawing, and the table of formats.
#include "app/api/sweep_export.h"

#include <QTest>
#include <QXmlStreamReader>
#include <set>

#include "app/bench/sweep/result/run_record.h"
#include "tests/support/test_class.h"

namespace sweep_export_test {

using namespace lathe;
using namespace lathe::app;

namespace {

SweepPlan plan_of_six() {
  SweepPlan plan;
  plan.name = "A <sweep> & more";
  plan.options.model = "/models/tiny";
  plan.sampling.temperature = 0.5;
  plan.sampling.top_k = 7;
  plan.sampling.stop = {"it's over"};
  plan.variables = {{"policy", {"paged", "static"}}, {"concurrency", {"1", "4", "16"}}};
  return plan;
}

/// Cell i has i + 1 and i + 2 tok/s; what is not named could not be seen.
SweepReport report_of_five() {
  SweepReport report;
  for (std::size_t i = 0; i < 5; ++i) {
    for (const double more : {1.0, 2.0}) {
      report.cells[i].samples.emplace_back(sweep_metrics().size(), kUnseen);
      report.cells[i].samples.back()[metric_index("output_tok_s")] = static_cast<double>(i) + more;
      report.cells[i].samples.back()[metric_index("ttft_ms_p99")] = 10 - static_cast<double>(i);
    }
  }
  report.cells[4].samples.clear();
  report.cells[4].error = "no <room>";
  return report;
}

/// Elements of that name; -1: it is no XML.
int n_elements(const std::string& text, const char* name) {
  QXmlStreamReader xml(QByteArray::fromStdString(text));
  int n = 0;
  while (!xml.atEnd()) {
    if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QLatin1String(name)) ++n;
  }
  return xml.hasError() ? -1 : n;
}

}  // namespace

class SweepExportTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_chart_has_a_line_a_combination_and_a_point_a_cell() {
    const std::string svg = chart_svg(plan_of_six(), report_of_five(), metric_index("output_tok_s"));
    QCOMPARE(n_elements(svg, "polyline"), 2);
    QCOMPARE(n_elements(svg, "circle"), 4 + 2);  // and those of the legend
    QVERIFY(svg.find(">static</text>") != std::string::npos);
  }

  void one_metric_over_another_has_its_front() {
    const std::string svg =
        chart_svg(plan_of_six(), report_of_five(), metric_index("output_tok_s"), metric_index("ttft_ms_p99"));
    QCOMPARE(n_elements(svg, "polyline"), 1);
    // More tok/s and less TTFT: the last cell beats all.
    QVERIFY((pareto_front(report_of_five(), metric_index("output_tok_s"), metric_index("ttft_ms_p99")) ==
             std::vector<std::size_t>{3}));
  }

  void what_could_not_be_seen_is_not_drawn() {
    const std::string svg = chart_svg(plan_of_six(), report_of_five(), metric_index("kv_usage_peak"));
    QCOMPARE(n_elements(svg, "circle"), 2);
    QVERIFY(n_elements(chart_svg(SweepPlan{}, SweepReport{}, 0), "svg") == 1);
  }

  void a_page_needs_nothing_else() {
    const std::string html = to_html(plan_of_six(), report_of_five());
    QVERIFY(html.find("A &lt;sweep&gt; &amp; more") != std::string::npos);
    QVERIFY(html.find("failed: no &lt;room&gt;") != std::string::npos);
    QVERIFY(html.find("\"nan\"") == std::string::npos && html.find(">nan") == std::string::npos);
    for (const char* outside : {"src=", "href=", "url(", "@import", "<script"})
      QVERIFY2(html.find(outside) == std::string::npos, outside);
    QVERIFY(html.find("max_num_seqs") != std::string::npos);  // of the plan
    QVERIFY(html.find("processors") != std::string::npos);
    std::size_t n_rows = 0;
    for (std::size_t at = html.find("<tr>"); at != html.npos; at = html.find("<tr>", at + 1)) ++n_rows;
    QCOMPARE(n_rows, std::size_t{6});
  }

  /// A line for each of the 13 quantizations that there are, and no two that look alike.
  void many_lines_are_told_apart_and_what_is_left_out_is_told() {
    SweepPlan plan = plan_of_six();
    plan.variables[0] = {"quantization", {}};
    for (int i = 0; i < 26; ++i) plan.variables[0].values.push_back(std::to_string(i));
    const std::string svg = chart_svg(plan, report_of_five(), metric_index("output_tok_s"));
    QCOMPARE(n_elements(svg, "polyline"), 24);
    QVERIFY(svg.find("2 more in the table") != std::string::npos);
    std::set<std::string> looks;
    for (std::size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1))
      looks.insert(svg.substr(svg.find("fill=", at), svg.find("/>", at) - svg.find("fill=", at)));
    QCOMPARE(looks.size(), std::size_t{24});
  }

  /// Two cells of the six, one of which has values far apart; and the goal.
  void a_distribution_has_a_stair_a_cell() {
    SweepPlan plan = plan_of_six();
    SweepReport report = report_of_five();
    const std::size_t ttft = latency_index("ttft_ms");
    QVERIFY(!has_distribution(report, ttft));
    QCOMPARE(n_elements(distribution_svg(plan, report, ttft), "polyline"), 0);
    QVERIFY(to_html(plan, report).find("share (%)") == std::string::npos);
    const auto keep = [&](std::size_t cell, std::vector<double> values) {
      std::vector<LatencyDistribution> all(latencies().size());
      all[ttft] = distribution_of(std::move(values));
      report.cells[cell].distributions = {std::make_shared<const std::vector<LatencyDistribution>>(all)};
    };
    keep(0, {10, 20, 40});
    keep(1, {20, 30});
    plan.goal.ttft_ms = 50;
    std::string svg = distribution_svg(plan, report, ttft);
    QCOMPARE(n_elements(svg, "polyline"), 3);
    QCOMPARE(n_elements(svg, "circle"), 0);
    QVERIFY(svg.find(">goal 50 ms</text>") != std::string::npos &&
            svg.find(">paged, concurrency 4</text>") != std::string::npos);
    QVERIFY(svg.find(">0</text>") != std::string::npos);
    QVERIFY(to_html(plan, report).find("share (%) over ttft_ms") != std::string::npos);
    keep(1, {20, 3000});
    svg = distribution_svg(plan, report, ttft);
    QCOMPARE(n_elements(svg, "polyline"), 3);
    QVERIFY(svg.find(">1000</text>") != std::string::npos && svg.find(">1500</text>") == std::string::npos);
    QVERIFY(svg.find("nan") == std::string::npos && svg.find("inf") == std::string::npos);
  }

  void points_of_a_front_have_names() {
    const std::string svg =
        chart_svg(plan_of_six(), report_of_five(), metric_index("output_tok_s"), metric_index("ttft_ms_p99"));
    QCOMPARE(n_elements(svg, "title"), 1 + 4 + 1);  // of the drawing, of the points, of the one that is best in both
    QVERIFY(svg.find(">static, concurrency 1</text>") != std::string::npos);
  }

  void numbers_of_a_legend_say_what_they_count() {
    SweepPlan plan = plan_of_six();
    plan.variables = {{"max_num_seqs", {"1", "32"}}, {"ignore_eos", {"true"}}, {"concurrency", {"1", "4", "16"}}};
    const std::string svg = chart_svg(plan, report_of_five(), metric_index("output_tok_s"));
    QVERIFY(svg.find(">max_num_seqs 32, ignore_eos true</text>") != std::string::npos);
    QVERIFY(svg.find(">concurrency</text>") != std::string::npos);  // of the axis, whose ticks are numbers alone
    QVERIFY(svg.find(">16</text>") != std::string::npos);
  }

  void a_skipped_cell_has_not_failed() {
    SweepReport report = report_of_five();
    report.cells[3].error = "skipped";
    QVERIFY(report.n_failed() == 1 && report.n_skipped() == 1);
    const std::string html = to_html(plan_of_six(), report), markdown = to_markdown(plan_of_six(), report);
    QVERIFY(html.find("class=\"skipped\" colspan=\"9\">skipped<") != std::string::npos);
    QVERIFY(html.find("5 of 6 cells (1 failed, 1 skipped)") != std::string::npos);
    QVERIFY(markdown.find("| skipped |") != std::string::npos);
    QVERIFY(markdown.find("failed: skipped") == std::string::npos);
    QVERIFY(markdown.find("| failed: no <room> |") != std::string::npos);
    report.cells.erase(4);
    QVERIFY(to_html(plan_of_six(), report).find("4 of 6 cells (1 skipped)") != std::string::npos);
  }

  void unseen_metrics_are_empty_everywhere() {
    const SweepPlan plan = plan_of_six();
    const SweepReport report = report_of_five();
    QVERIFY(!to_json(plan, report)["cells"][0]["metrics"].contains("kv_usage_peak"));
    for (const std::string& text : {to_csv(plan, report), to_markdown(plan, report)})
      QVERIFY(text.find("nan") == std::string::npos);
  }

  /// Each format is its own: a name, an ending and a text that no other has.
  void every_format_is_written() {
    SweepPlan plan = plan_of_six();
    std::set<std::string_view> names, endings;
    std::set<std::string> texts;
    for (const ExportFormat* format : export_formats()) {
      QVERIFY(names.insert(format->name).second && endings.insert(format->ending).second && !format->title.empty());
      const std::string text = format->write(plan, report_of_five(), usual_chart(plan));
      QVERIFY2(text.ends_with('\n'), text.c_str());
      QVERIFY2(text.find("paged") != std::string::npos && texts.insert(text).second, text.c_str());
    }
    for (const char* name : {"json", "csv", "markdown", "html", "svg"}) QVERIFY2(names.contains(name), name);
  }

  void the_drawing_is_of_the_chart_that_is_shown() {
    const SweepPlan plan = plan_of_six();
    const SweepReport report = report_of_five();
    const auto svg = [&](const ChartChoice& chart) {
      for (const ExportFormat* format : export_formats()) {
        if (format->name == "svg") return format->write(plan, report, chart);
      }
      return std::string();
    };
    const std::size_t rate = metric_index("output_tok_s"), ttft = metric_index("ttft_ms_p99");
    QCOMPARE(svg({.metric = rate}), chart_svg(plan, report, rate));
    QCOMPARE(svg({.metric = rate, .over = ttft}), chart_svg(plan, report, rate, ttft));
    QCOMPARE(svg({.metric = rate, .latency = 1}), distribution_svg(plan, report, 1));
    // A line for each value of the last variable, over the first.
    const std::string over_policy = svg({.metric = rate, .axis = 0});
    QVERIFY2(over_policy.find(">concurrency 16</text>") != std::string::npos, over_policy.c_str());
  }

  void the_usual_chart_is_of_what_a_plan_measures() {
    SweepPlan plan = plan_of_six();
    QCOMPARE(usual_chart(plan).metric, metric_index("output_tok_s"));
    plan.workload.load = "saturation";
    QCOMPARE(usual_chart(plan).metric, metric_index("max_rate"));
    plan.quality_dataset = "stories.txt";
    QCOMPARE(usual_chart(plan).metric, metric_index("kl_mean"));
    QCOMPARE(usual_chart(plan).over, std::optional(metric_index("output_tok_s")));
  }
};

LATHE_TEST(SweepExportTest)

}  // namespace sweep_export_test
#include "sweep_export_test.moc"
