// The commands of `sailor` with their options, and what these set.
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"
#include "cli/job_commands.h"
#include "cli/options.h"
#include "cli/paper.h"
#include "cli/render.h"
#include "cli/replay.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sailor::cli {

struct Arguments {
  PlanArguments plan;
  SimulateArguments simulate;
  EvaluateArguments evaluate;
  PaperArguments paper;
  ReplayArguments replay;
  RenderArguments render;
  std::vector<std::string> files;  // of validate
  JobArguments job;
  Shell shell = Shell::kBash;
};

// Adds all commands. Parsing the command line then sets the arguments, which must outlive the app.
void add_commands(CLI::App& app, Arguments& arguments);

}  // namespace sailor::cli
