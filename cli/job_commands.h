// The commands that look at jobs in a cluster, and suspend and resume them. They write results to `out`.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/kubectl.h"

namespace sailor::cli {

struct JobArguments {
  KubectlOptions kubectl;
  std::string job;
  bool all_namespaces = false;
  bool follow = false;  // of logs: go on until the user interrupts
};

// Without a job: all jobs of the namespace, or of all namespaces.
Result<void> run_top(const JobArguments& arguments, std::ostream& out);
Result<void> run_explain(const JobArguments& arguments, std::ostream& out);
Result<void> run_history(const JobArguments& arguments, std::ostream& out);
// The lines of all workers in the order of their times; followed logs come as they are written.
Result<void> run_logs(const JobArguments& arguments, std::ostream& out);
Result<void> run_suspend(const JobArguments& arguments, std::ostream& out);
Result<void> run_resume(const JobArguments& arguments, std::ostream& out);

struct JobCommand {
  const char* name;
  const char* help;
  Result<void> (*run)(const JobArguments&, std::ostream&);
};

inline constexpr JobCommand kJobCommands[] = {
    {"top", "Show how fast jobs of a cluster are, and what they cost", run_top},
    {"explain", "Say what a job of a cluster does, or what it waits for", run_explain},
    {"history", "List the changes of plan of a job of a cluster", run_history},
    {"logs", "Print the logs of all workers of a job, in the order of their times", run_logs},
    {"suspend", "Save a job's state and free its GPUs", run_suspend},
    {"resume", "Continue a suspended job", run_resume},
};

}  // namespace sailor::cli
