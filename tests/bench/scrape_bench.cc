// Scrapes the operator's metrics with many jobs, as Prometheus does: over HTTP, compressed.
#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "operator/metrics/metrics.h"
#include "operator/metrics/metrics_route.h"
#include "operator/model/observation.h"
#include "tests/core/net/tcp_peer.h"

namespace {

using sailor::Metrics;

constexpr int kJobs = 1000;
constexpr int kStages = 4;
constexpr double kMegabyte = 1e6;

constexpr std::array kPools = {"us-central1-a/nvidia-h100-80gb/ondemand", "us-central1-b/nvidia-h100-80gb/spot",
                               "us-west1-b/nvidia-l4/ondemand", "europe-west4-a/nvidia-l4/spot"};

// The status of a job that trains on four pools and has lost a node.
sailor::JobStatus training_job() {
  sailor::JobStatus status;
  status.state = "Running";
  status.conditions[sailor::ConditionType::kRunning].condition.truth = sailor::Truth::kTrue;
  sailor::PlanStatus& plan = status.plan.emplace();
  plan.generation = 2;
  plan.tokens_per_second = 123456;
  for (const char* pool : kPools) plan.gpus[sailor::parse_pool_key(pool).value()] = 8;
  sailor::ProgressStatus& progress = status.progress.emplace();
  progress.dollars_spent = 1234.567;
  progress.traffic_dollars = 12.345;
  progress.saved_dollars = 345.678;
  progress.elapsed_seconds = 4321.123;
  progress.useful_seconds = 4123.456;
  progress.newest = sailor::StepStatus{.step = 4321,
                                       .loss = 2.345678,
                                       .validation_loss = 2.456789,
                                       .tokens_per_second = 120345,
                                       .tokens = 123456789,
                                       .last_checkpoint_step = 4300};
  sailor::RescaleStatus& rescale = status.rescales.emplace_back();
  rescale.reason = sailor::Reason::kNodeLost;
  rescale.to_generation = 2;
  rescale.seconds = 1.234;
  rescale.stopped_seconds = 0.567;
  for (const sailor::RescalePart part : sailor::kRescaleParts) rescale.parts[part] = 0.1;
  return status;
}

sailor::Observation observed() {
  sailor::Observation observation;
  sailor::JobSpec job;
  job.training.steps = 10000;
  job.checkpoint.path = "/checkpoints";
  job.objective = sailor::MaximizeThroughput{sailor::Dollars(1), sailor::DollarsPerHour(100)};
  observation.job.spec = job;
  sailor::GenerationRecord& record = observation.record.emplace();
  record.generation = 2;
  record.summary.bound_ratio = 0.876543;
  record.schedule_times.emplace().replicas.resize(kStages, {sailor::ReplicaTimes{}});
  return observation;
}

// The series of jobs that an operator has seen before and after a rescale.
std::unique_ptr<Metrics> metrics_of_jobs() {
  auto metrics = std::make_unique<Metrics>();
  const sailor::Observation observation = observed();
  sailor::Decision decision;
  for (int job = 0; job < kJobs; ++job) {
    const sailor::JobKey key{fmt::format("team-{}", job % 20), fmt::format("training-job-{}", job)};
    for (const bool is_rescaled : {false, true}) {
      decision.status = training_job();
      if (!is_rescaled) decision.status->rescales.clear();
      metrics->reconciled({.job = key, .observation = &observation, .decision = &decision});
    }
  }
  return metrics;
}

// Returns the length of the answer, with its header.
std::size_t scrape(int port, const char* encoding) {
  const auto connection = sailor::net::testing::connect_to(port);
  if (!connection.send(fmt::format(
          "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {}\r\nConnection: close\r\n\r\n", encoding)))
    throw std::runtime_error("the server closed the connection");
  std::size_t length = 0;
  for (std::string part = connection.receive(); !part.empty(); part = connection.receive()) length += part.size();
  return length;
}

void scrape_metrics(benchmark::State& state) {
  const auto metrics = metrics_of_jobs();
  const int port = sailor::net::testing::free_port();
  const auto server = sailor::net::HttpServer::listen(fmt::format("127.0.0.1:{}", port),
                                                      {sailor::metrics_route(*metrics)}, {.has_own_thread = true});
  if (!server) throw std::runtime_error(server.error().message);
  std::size_t transferred = 0;
  for (auto _ : state) transferred = scrape(port, "gzip");
  state.counters["transferred_MB"] = static_cast<double>(transferred) / kMegabyte;
  state.counters["goal_transferred_MB"] = 2;
  state.counters["text_MB"] = static_cast<double>(scrape(port, "identity")) / kMegabyte;
  state.counters["goal"] = 0.05;
}
BENCHMARK(scrape_metrics)->Name("scrape of 1,000 jobs")->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
