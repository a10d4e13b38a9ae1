#include "operator/metrics/process_series.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace sailor {
namespace {

prometheus::Gauge& gauge(SeriesRegistry& registry, const char* name, const char* help) {
  return registry.gauge(name, help).add({});
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double open_files() {
  std::error_code error;  // the folder cannot be listed; the count is then 0
  double count = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    ++count;
  }
  return count;
}

double most_open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

// Returns the value of a line "NAME VALUE" of /proc/stat; 0 if there is none.
double boot_time() {
  std::ifstream stream("/proc/stat");
  std::string word;
  while (stream >> word) {
    double value = 0;
    if (word == "btime" && stream >> value) return value;
  }
  return 0;
}

// Seconds since the epoch. The field starttime of /proc/self/stat counts ticks since boot. The fields before it begin
// after the name of the program, which may contain spaces and ends with the last parenthesis.
double start_time() {
  constexpr int kFieldsBefore = 19;
  std::ifstream stream("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 0; field < kFieldsBefore; ++field) fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  return boot_time() + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessSeries::ProcessSeries(SeriesRegistry& registry)
    : resident_memory_(gauge(registry, "process_resident_memory_bytes", "Resident memory.")),
      virtual_memory_(gauge(registry, "process_virtual_memory_bytes", "Virtual memory.")),
      open_files_(gauge(registry, "process_open_fds", "Open file descriptors.")),
      most_files_(gauge(registry, "process_max_fds", "Largest number of open file descriptors.")),
      start_time_(gauge(registry, "process_start_time_seconds", "Start of the process, seconds since the epoch.")),
      cpu_(registry.counter("process_cpu_seconds_total", "User and system CPU time.").add({})) {
  start_time_.Set(start_time());
  update();
}

void ProcessSeries::update() {
  std::ifstream stream("/proc/self/statm");  // in pages: the virtual and the resident size
  double size = 0;
  double resident = 0;
  stream >> size >> resident;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  virtual_memory_.Set(size * page);
  resident_memory_.Set(resident * page);
  open_files_.Set(open_files());
  most_files_.Set(most_open_files());
  const double cpu = cpu_seconds();
  if (cpu > cpu_.Value()) cpu_.Increment(cpu - cpu_.Value());
}

}  // namespace sailor
