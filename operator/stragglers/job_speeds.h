// JobSpeeds: how fast the GPUs of one job compute, estimated from the times that its workers report. It has no clock
// and reads nothing: equal reports lead to equal estimates.
//
// The time of a GPU is compared only with times for the same work: with the median of the GPUs that do this work, or,
// if they are fewer than three, with the GPU's own past. What slows all workers of a job down alike does not count.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/ids.h"
#include "operator/stragglers/change_detector.h"

namespace sailor {

struct GpuName {
  std::string node_uid;
  int gpu = 0;  // its index in the pod on the node
  friend auto operator<=>(const GpuName&, const GpuName&) = default;
};

// What a GPU computes for each microbatch. Only times for equal work can be compared.
struct Work {
  PoolKey pool;  // of grade 0
  int first_layer = 0;
  int last_layer = 0;
  int tensor_parallel = 0;  // 0: no microbatch, but the probe of a worker that does not train
  int microbatch_size = 0;
  friend auto operator<=>(const Work&, const Work&) = default;

  [[nodiscard]] bool is_probe() const { return tensor_parallel == 0; }
};

// The newest report of one worker.
struct PassTime {
  GpuName gpu;
  Work work;
  std::int64_t generation = 0;
  std::int64_t step = 0;
  double seconds = 0;          // for one microbatch, or one probe
  double planned_seconds = 0;  // for one microbatch, as the planner expects it of a GPU that is not slow; 0: unknown
};

struct GpuSpeed {
  double slowdown = 1;     // the time of a pass over its usual time; 1: the GPU is not slow
  double newest = 1;       // the same for about the last three reports, noise included
  bool is_settled = true;  // the reports since the last change, of the speed or of the work, are enough and agree
  std::optional<double> usual_probe_seconds = {};  // empty: the GPU is not probed, or this is not known yet
  friend bool operator==(const GpuSpeed&, const GpuSpeed&) = default;
};

// A GPU gets slow at kSlowFrom, and is slow until it is below kSlowUntil.
inline constexpr double kSlowFrom = 1.2;
inline constexpr double kSlowUntil = 1.1;

class JobSpeeds {
 public:
  // What a record says of a slow GPU.
  struct KnownSlowGpu {
    double slowdown = 1;
    double usual_probe_seconds = 0;  // 0: unknown
  };
  using KnownSlowGpus = std::map<GpuName, KnownSlowGpu>;
  using Time = std::chrono::sys_time<std::chrono::milliseconds>;

  // Takes the newest reports of all workers of the job at this time. Reports that were taken before are ignored, and
  // those that may be about the same steps. `known` are the slow GPUs that the record of the job contains: an operator
  // that starts takes them over.
  void note(const std::vector<PassTime>& times, const KnownSlowGpus& known, Time now);

  // The GPUs of the last call of note() about which enough is known.
  [[nodiscard]] std::map<GpuName, GpuSpeed> speeds() const;

 private:
  struct Reference {
    double sum = 0;  // of the logarithms of the times of one microbatch at usual speed
    int steps = 0;
    bool is_guess = false;  // learned while the GPU was slow
    [[nodiscard]] double mean() const { return sum / steps; }
    void add(double value, int more);
  };
  // How much the deviations of one GPU differ from one report to the next.
  struct Noise {
    std::optional<double> last;  // deviation
    double difference = 0;       // mean of the absolute differences, mostly of the last ten
    int count = 0;
    void add(double deviation);
    [[nodiscard]] double sigma() const;  // of one report
  };
  struct Gpu {
    double level = 0;  // the logarithm of the slowdown
    double newest = 0;
    std::map<Work, Reference> references;
    ChangeDetector changes;
    Noise noise;
    PassTime last;
    Time taken_at;             // `last`
    bool is_new = false;       // `last` is not judged yet
    int steps = 0;             // of `last`, since the report before it
    int reports_of_level = 0;  // since `level` has changed
    int steps_of_place = 0;    // since the GPU does this work in this generation
  };
  // What the other GPUs tell about the report of one.
  struct Surroundings {
    double slowdown_of_all = 0;  // logarithm
    double noise = 0;            // standard deviation of a report's logarithm
  };

  void take_in(const std::vector<PassTime>& times, const KnownSlowGpus& known, Time now);
  static void take_over(Gpu& gpu, const KnownSlowGpu& known, const Work& work);
  static void take(Gpu& gpu, const PassTime& time, Time now);
  static void guess_usual(Gpu& gpu, const PassTime& next);
  [[nodiscard]] std::vector<double> times_of_peers(const Gpu& gpu, const std::function<bool(const Gpu&)>& counts) const;
  [[nodiscard]] std::optional<double> usual(const Gpu& gpu) const;
  [[nodiscard]] bool awaits_peers(const Gpu& gpu) const;
  [[nodiscard]] double slowdown_of_all() const;
  [[nodiscard]] double usual_noise() const;
  static bool is_warming_up(const Gpu& gpu);
  void judge(Gpu& gpu, const Surroundings& surroundings);
  static void refine_level(Gpu& gpu, double deviation);
  static void change_level(Gpu& gpu, double level, double usual);

  std::map<GpuName, Gpu> gpus_;    // those of the last call of note()
  std::map<GpuName, Gpu> absent_;  // those of earlier calls
};

}  // namespace sailor
