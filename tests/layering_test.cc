// The include rules of docs/architecture.md, as code: a file may include only what its module may see.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

// Module -> modules whose headers it may include besides its own. A file's module is the longest key that leads its
// path.
const std::map<std::string, std::set<std::string>>& allowed_modules() {
  static const std::set<std::string> core = {"core/model",    "core/manifest", "core/schedule",
                                             "core/protocol", "core/net",      "core/log"};
  static const auto above_core = [](std::set<std::string> modules) {
    modules.insert(core.begin(), core.end());
    return modules;
  };
  static const std::map<std::string, std::set<std::string>> table = {
      {"core/model", {}},
      {"core/manifest", {"core/model"}},
      {"core/schedule", {"core/model"}},
      {"core/protocol", {"core/model"}},
      {"core/net", {"core/model"}},
      {"core/log", {}},
      {"planner", {"core/model", "planner/problem"}},
      {"simulator", {"core/model", "core/schedule", "planner/problem"}},
      {"planner/problem", {"core/model"}},
      {"report", above_core({"planner", "planner/problem", "simulator"})},
      {"operator", above_core({"planner", "planner/problem", "simulator"})},
      {"trainer", above_core({})},
      {"cli", above_core({"planner", "planner/problem", "simulator", "report", "operator"})},
  };
  return table;
}

std::string module_of(const std::string& path) {
  std::string best;
  for (const auto& [module, uses] : allowed_modules()) {
    if (path.starts_with(module + "/") && module.size() > best.size()) best = module;
  }
  return best;
}

std::vector<std::string> own_includes(const fs::path& file) {
  static const std::regex pattern(R"re(^\s*#include\s+"([^"]+)")re");
  std::ifstream stream(file);
  std::vector<std::string> includes;
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) includes.push_back(match[1]);
  }
  return includes;
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions = {".h", ".cc", ".cu"};
  return extensions.contains(path.extension().string());
}

// main.cc files compose the program and may include anything.
bool is_composition_root(const fs::path& path) { return path.filename() == "main.cc"; }

std::vector<std::string> violations_of(const std::string& path, const std::vector<std::string>& includes) {
  const std::string module = module_of(path);
  std::vector<std::string> violations;
  for (const std::string& header : includes) {
    const std::string used = module_of(header);
    const bool allowed = used == module || allowed_modules().at(module).contains(used);
    if (!allowed) violations.push_back(path + " must not include " + header);
  }
  return violations;
}

TEST(Layering, EveryFileIncludesOnlyWhatItsModuleMaySee) {
  const fs::path root = SAILOR_SOURCE_DIR;
  int files = 0;
  for (const std::string top : {"core", "planner", "simulator", "report", "operator", "trainer", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!is_source(entry.path()) || is_composition_root(entry.path())) continue;
      ++files;
      const std::string path = fs::relative(entry.path(), root).string();
      for (const std::string& violation : violations_of(path, own_includes(entry.path()))) ADD_FAILURE() << violation;
    }
  }
  EXPECT_GT(files, 20) << "the sources were not found below " << root;
}

TEST(Layering, AForbiddenIncludeIsNamed) {
  EXPECT_EQ(violations_of("planner/problem/objective.h", {"operator/reconcile/decide.h"}),
            std::vector<std::string>{"planner/problem/objective.h must not include operator/reconcile/decide.h"});
  EXPECT_EQ(violations_of("trainer/agent.cc", {"planner/planner.h"}).size(), 1U);
  EXPECT_TRUE(violations_of("simulator/memory.cc", {"core/model/plan.h", "planner/problem/estimator.h"}).empty());
}

}  // namespace
