// The experiments of the Sailor paper's evaluation that a simulation can repeat: clusters and jobs, and what the paper
// reports. experiments.json is the data; this is its type.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/manifest/artifact.h"
#include "core/model/job_spec.h"

namespace sailor::paper {

// One job on one cluster. The cluster is a line of a trace of the artifact, or is given by its GPUs.
struct Case {
  std::string name;
  std::string model;
  Objective objective;
  std::string trace;  // file of the artifact; empty: `gpus` is the cluster
  std::size_t line = 0;
  std::vector<ArtifactPool> gpus;
  std::string recorded;  // the folder with plans of the paper's and of other planners; empty: none was recorded
};

enum class Measure {
  kNone,         // the paper's value only
  kOverPeer,     // our value over that of another planner's plan, the mean of the cases for which one was recorded
  kUnderPeer,    // the other planner's over ours, likewise
  kOverCase,     // the value of a case over that of another case
  kValue,        // the value of a case
  kSearch,       // how long a planner searched, in seconds
  kGpus,         // the GPUs that the plan uses
  kRegions,      // the regions that the plan uses
  kTimeError,    // the mean error of the estimated times of measured runs
  kMemoryError,  // the mean error of their estimated peak memory
};

enum class Quantity { kThroughput, kCost };  // of an iteration

// A number that the paper reports; `low` is less than `high` only if it gives a range.
struct Range {
  double low = 0;
  double high = 0;
};

// What the paper reports. Without a range and a text: its text has no value.
struct Published {
  std::optional<Range> range;
  bool is_limit = false;  // the paper says "less than range->high"
  std::string text;       // instead of a number
};

struct Claim {
  std::string text;
  Measure measure = Measure::kNone;
  Quantity of = Quantity::kThroughput;
  std::size_t at = 0;    // the index of the case
  std::size_t base = 0;  // the index of the case that kOverCase divides by
  std::string peer;      // another planner
  std::string runs;      // how the names of the measured runs begin
  Published published;
  bool is_percent = false;
};

struct Experiment {
  std::string id;    // for the command line: "8a", "t2"
  std::string name;  // "Figure 8a"
  std::string title;
  std::string shows;
  std::string note;  // empty: none
  std::string why;   // why our values differ from the paper's, where they do
  std::vector<Case> cases;
  std::vector<Claim> claims;
};

struct NotReproduced {
  std::string name;
  std::string reason;
};

struct Evaluation {
  std::string source;
  std::vector<std::string> assumptions;
  std::map<Accelerator, DollarsPerHour> prices;         // of one GPU, in all zones
  std::vector<int> microbatch_sizes;                    // those that the planners may choose
  std::map<std::string, std::string> training_configs;  // by model: the file of the artifact with its job
  std::vector<Experiment> experiments;
  std::vector<NotReproduced> not_reproduced;
};

const Evaluation& evaluation();

// Returns the experiment of this id. The error lists the known ones.
Result<const Experiment*> find_experiment(std::string_view id);

}  // namespace sailor::paper
