#include "operator/stragglers/job_speeds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

namespace sailor {
namespace {

constexpr int kStepsToLearn = 8;
// A probe always does the same, and a GPU that recovers before its usual time is known would seem to be slow for long.
constexpr int kProbesToLearn = 2;
// The first steps at new work fill caches, while other workers still receive their state.
constexpr int kStepsToWarmUp = 3;
// A report is the mean over the last second, so two reports in a second are about the same steps.
constexpr std::chrono::milliseconds kLeastPause{900};
// A worker that changes its place does not report for some seconds.
constexpr std::chrono::minutes kRemembered{10};
constexpr double kNoiseOfWeightOne = 0.2;
constexpr int kStepsRemembered = 64;  // the usual time follows slow drifts
constexpr int kMostStepsOfReport = 4;
constexpr double kMostDrift = 0.18;  // that one report adds to the mean: about the logarithm of 1.2
constexpr std::size_t kPeers = 3;    // with fewer of them the median says little
constexpr std::size_t kMostKindsOfWork = 32;
constexpr double kWeightOfNewest = 0.4;
constexpr int kReportsOfChange = 2;  // that the first estimate of a level is the mean of
constexpr int kReportsToSettle = 3;  // after that

bool is_plausible(double seconds) { return std::isfinite(seconds) && seconds > 0 && seconds < 1e5; }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Returns the logarithm of the usual time for the work as one GPU knows it; nothing if it has not learned it.
template <class References>
std::optional<double> learned(const References& references, const Work& work) {
  const auto found = references.find(work);
  const int needed = work.is_probe() ? kProbesToLearn : kStepsToLearn;
  if (found == references.end() || found->second.steps < needed) return std::nullopt;
  return found->second.mean();
}

}  // namespace

void JobSpeeds::Noise::add(double deviation) {
  constexpr double kLeastWeight = 0.1;
  if (last) difference += std::max(kLeastWeight, 1.0 / ++count) * (std::abs(deviation - *last) - difference);
  last = deviation;
}

double JobSpeeds::Noise::sigma() const {
  // The mean absolute difference of two normal values is 2 sigma over the root of pi.
  return difference * std::sqrt(std::numbers::pi) / 2;
}

void JobSpeeds::Reference::add(double value, int more) {
  if (steps + more > kStepsRemembered) {
    sum *= static_cast<double>(kStepsRemembered - more) / steps;
    steps = kStepsRemembered - more;
  }
  sum += value * more;
  steps += more;
}

void JobSpeeds::note(const std::vector<PassTime>& times, const KnownSlowGpus& known, Time now) {
  take_in(times, known, now);
  const Surroundings surroundings{slowdown_of_all(), usual_noise()};
  for (auto& [name, gpu] : gpus_) {
    if (std::exchange(gpu.is_new, false)) judge(gpu, surroundings);
  }
}

void JobSpeeds::take_in(const std::vector<PassTime>& times, const KnownSlowGpus& known, Time now) {
  absent_.merge(gpus_);
  gpus_.clear();
  for (const PassTime& time : times) {
    auto node = absent_.extract(time.gpu);
    const bool is_new_gpu = node.empty();
    if (!is_new_gpu) gpus_.insert(std::move(node));
    if (!is_plausible(time.seconds)) continue;
    Gpu& gpu = gpus_[time.gpu];
    if (const auto slow = known.find(time.gpu); is_new_gpu && slow != known.end()) {
      take_over(gpu, slow->second, time.work);
    }
    take(gpu, time, now);
  }
  std::erase_if(absent_, [&](const auto& entry) { return now - entry.second.taken_at > kRemembered; });
}

void JobSpeeds::take_over(Gpu& gpu, const KnownSlowGpu& known, const Work& work) {
  gpu.level = gpu.newest = std::log(known.slowdown);
  if (work.is_probe() && known.usual_probe_seconds > 0) {
    gpu.references[work].add(std::log(known.usual_probe_seconds), kProbesToLearn);
  }
}

void JobSpeeds::take(Gpu& gpu, const PassTime& time, Time now) {
  const bool is_same_place = gpu.last.work == time.work && gpu.last.generation == time.generation;
  const bool is_same_report = gpu.last.step == time.step && gpu.last.seconds == time.seconds;
  const auto pause = now - gpu.taken_at;  // below zero after a clock was set back
  const bool is_early = pause >= pause.zero() && pause < kLeastPause;
  if (is_same_place && (is_same_report || is_early)) return;
  if (!is_same_place) {
    guess_usual(gpu, time);
    gpu.changes.forget();
    gpu.noise.last.reset();
    gpu.steps_of_place = 0;
  }
  const auto steps = is_same_place ? time.step - gpu.last.step : 1;
  gpu.steps = static_cast<int>(std::clamp<std::int64_t>(steps, 1, kMostStepsOfReport));
  gpu.steps_of_place += gpu.steps;
  gpu.last = time;
  gpu.taken_at = now;
  gpu.is_new = true;
}

// A slow GPU that gets other work starts with a guess of the usual time for it, because it may recover before the time
// is learned.
void JobSpeeds::guess_usual(Gpu& gpu, const PassTime& next) {
  const auto before = learned(gpu.references, gpu.last.work);
  if (gpu.level == 0 || !before || gpu.references.contains(next.work)) return;
  if (gpu.last.planned_seconds <= 0 || next.planned_seconds <= 0) return;
  Reference& guess = gpu.references[next.work];
  guess.is_guess = true;
  guess.add(*before + std::log(next.planned_seconds / gpu.last.planned_seconds), kStepsToLearn);
}

// Returns the logarithms of the usual time for a GPU's present work, as the GPUs know it that do this work.
std::vector<double> JobSpeeds::times_of_peers(const Gpu& gpu, const std::function<bool(const Gpu&)>& counts) const {
  std::vector<double> times;
  for (const auto& [name, peer] : gpus_) {
    if (peer.last.work != gpu.last.work || !counts(peer)) continue;
    if (const auto time = learned(peer.references, gpu.last.work)) times.push_back(*time);
  }
  return times;
}

// Returns the logarithm of the usual time for the present work of the GPU, if it is known.
std::optional<double> JobSpeeds::usual(const Gpu& gpu) const {
  if (!gpu.last.work.is_probe()) {
    if (auto all = times_of_peers(gpu, [](const Gpu&) { return true; }); all.size() >= kPeers) {
      return median(std::move(all));
    }
    // A slow GPU may recover while its usual time is learned, so the time of any other GPU is a better guide.
    const auto own = gpu.references.find(gpu.last.work);
    const bool is_guess = own == gpu.references.end() || own->second.is_guess;
    auto healthy = times_of_peers(gpu, [](const Gpu& peer) { return peer.level == 0; });
    if (gpu.level > 0 && is_guess && !healthy.empty()) return median(std::move(healthy));
  }
  return learned(gpu.references, gpu.last.work);
}

// Whether a GPU that is slow waits for another one to learn what is usual for their work.
bool JobSpeeds::awaits_peers(const Gpu& gpu) const {
  return gpu.level > 0 && !gpu.last.work.is_probe() && std::ranges::any_of(gpus_, [&](const auto& entry) {
           return entry.second.level == 0 && entry.second.last.work == gpu.last.work;
         });
}

// Returns the noise of the reports of most GPUs. A GPU that gets slow does not change it.
double JobSpeeds::usual_noise() const {
  std::vector<double> sigmas;
  std::ranges::transform(gpus_, std::back_inserter(sigmas),
                         [](const auto& entry) { return entry.second.noise.sigma(); });
  if (sigmas.empty()) return 0;
  std::ranges::sort(sigmas);
  return sigmas[(sigmas.size() - 1) / 2];
}

// Returns by how much all workers are slower than expected, as a logarithm: a busy machine, or a job of one worker,
// which nothing can be compared with. No worker is then slower than the others.
double JobSpeeds::slowdown_of_all() const {
  std::optional<double> least;
  for (const auto& [name, gpu] : gpus_) {
    const auto expected = gpu.last.work.is_probe() ? std::nullopt : usual(gpu);
    if (!expected) continue;
    const double deviation = std::log(gpu.last.seconds) - *expected - gpu.level;
    least = std::min(least.value_or(deviation), deviation);
  }
  return std::max(0.0, least.value_or(0));
}

bool JobSpeeds::is_warming_up(const Gpu& gpu) {
  return !gpu.last.work.is_probe() && gpu.steps_of_place <= kStepsToWarmUp;
}

void JobSpeeds::judge(Gpu& gpu, const Surroundings& surroundings) {
  const bool is_probe = gpu.last.work.is_probe();
  if (is_warming_up(gpu)) return;
  if (gpu.references.size() > kMostKindsOfWork) gpu.references.clear();
  Reference& own = gpu.references[gpu.last.work];
  const double time = std::log(gpu.last.seconds) - (is_probe ? 0 : surroundings.slowdown_of_all);
  const auto expected = usual(gpu);
  own.is_guess = own.is_guess || (own.steps == 0 && gpu.level > 0);
  if (!expected) {
    if (!awaits_peers(gpu)) own.add(time - gpu.level, gpu.steps);
    return;
  }
  gpu.newest += kWeightOfNewest * (time - *expected - gpu.newest);
  const double deviation = time - *expected - gpu.level;
  gpu.noise.add(deviation);
  const double noise = std::max(surroundings.noise / kNoiseOfWeightOne, 1e-3);
  if (const auto change = gpu.changes.add(deviation, std::min<double>(gpu.steps, 1 / (noise * noise)))) {
    gpu.noise.last.reset();
    change_level(gpu, gpu.level + *change, *expected);
    return;
  }
  if (gpu.level > 0) {
    refine_level(gpu, deviation);
    return;
  }
  // Outliers do not move the mean far, and a true change not before it is noticed.
  const double usual = learned(gpu.references, gpu.last.work).value_or(*expected);
  own.add(usual + std::clamp(time - usual, -kMostDrift, kMostDrift), gpu.steps);
}

// A change is noticed after few reports, so the next ones say more exactly how large it was. If it is small, it is
// measured for ever: the rest may be an error of the estimate, and the detector does not see that it goes away.
void JobSpeeds::refine_level(Gpu& gpu, double deviation) {
  constexpr int kReportsToRefine = 12;
  if (gpu.reports_of_level >= kReportsToRefine && gpu.level >= 2 * ChangeDetector::kTolerance) return;
  gpu.reports_of_level = std::min(gpu.reports_of_level + 1, kReportsToRefine);
  gpu.level += deviation / (kReportsOfChange + gpu.reports_of_level);
  if (gpu.level < std::log(kSlowUntil)) gpu.level = 0;
}

void JobSpeeds::change_level(Gpu& gpu, double level, double usual) {
  const bool is_slow = level >= std::log(gpu.level > 0 ? kSlowUntil : kSlowFrom);
  Reference& own = gpu.references[gpu.last.work];
  // A GPU that is faster than usual was slow when its usual time was learned.
  own = {.is_guess = own.is_guess};  // a guess does not become knowledge by it
  own.add(std::min(usual, usual + level), kStepsToLearn);
  gpu.level = is_slow ? level : 0;
  gpu.reports_of_level = 0;
}

std::map<GpuName, GpuSpeed> JobSpeeds::speeds() const {
  std::map<GpuName, GpuSpeed> speeds;
  for (const auto& [name, gpu] : gpus_) {
    const std::optional<double> usual_time = usual(gpu);
    if (!usual_time) continue;
    const bool is_known = gpu.level == 0 || gpu.reports_of_level >= kReportsToSettle;
    speeds[name] = {.slowdown = std::exp(gpu.level),
                    .newest = std::exp(gpu.newest),
                    .is_settled = is_known && !is_warming_up(gpu) && gpu.changes.is_quiet()};
    if (gpu.last.work.is_probe()) speeds[name].usual_probe_seconds = std::exp(*usual_time);
  }
  return speeds;
}

}  // namespace sailor
