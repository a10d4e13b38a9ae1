// Shell completion. The script of each shell asks `sailor __complete` for the words that may stand at the cursor, so a
// script that a user has stored stays valid when commands are added.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_help.h"
#include "cli/kubectl.h"

namespace sailor::cli {

enum class Shell { kBash, kZsh, kFish };

std::string_view completion_script(Shell shell);

using JobNames = std::function<std::vector<std::string>(const KubectlOptions&)>;

// Returns the words that may replace the last of `words`, which are those after the program's name. Each is a line,
// with a tab and a description if it has one. The last line says what the shell may add: ":0" files, ":16" folders,
// ":4" nothing. kubectl expects the same format from the completion of a plugin.
std::string complete(const CommandHelp& program, std::vector<std::string> words, const JobNames& job_names);

// Returns the names of the jobs that kubectl finds; none if it fails or takes more than two seconds.
std::vector<std::string> job_names_in_cluster(const KubectlOptions& options);

}  // namespace sailor::cli
