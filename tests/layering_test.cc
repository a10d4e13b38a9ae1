// The include rules of docs/architecture.md, as code. A file may include only the modules that its own module may see,
// inside its module only folders of lower layers, and never a file that includes it in turn.
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

using Names = std::vector<std::string>;
using Graph = std::map<std::string, std::set<std::string>>;  // a node, and the nodes that it points to

// A module, the other modules that it may include, and its folders in layers from the lowest up: a folder may include
// those before it. "." is the module's own folder.
struct Module {
  std::string name;
  Names may_include;
  Names layers = {"."};
};

const std::vector<Module>& modules() {
  static const std::vector<Module> table = {
      {"core/model", {}},
      {"core/manifest", {"core/model"}},
      {"core/schedule", {"core/model"}},
      {"core/protocol", {"core/model"}},
      {"core/log", {}},
      {"core/command_line", {}},
      {"core/net", {"core/model"}},
      {"planner/problem", {"core/model"}},
      {"planner", {"core/model", "planner/problem"}, {"relaxation", "proof", "replan", "search", ".", "replay"}},
      {"simulator", {"core/model", "core/schedule", "planner/problem"}},
      {"report/paper", {"core", "planner", "simulator"}},
      {"report", {"core", "planner", "simulator", "report/paper"}},
      {"operator",
       {"core", "planner", "simulator", "report"},
       {"protocol", "kube", "leader", "stragglers", "model", "render", "agents", "reconcile/observe",
        "reconcile/decide", "reconcile", "metrics", "pages", "."}},
      {"trainer",
       {"core"},
       {"process", "device", "comm", "data", "model", "optim", "checkpoint", "weights", "step", "elastic/protocol",
        "elastic/state", "elastic/control", "elastic/joining", "elastic/regroup", "elastic/preparation",
        "elastic/worker", "agent", "profile", "."}},
      {"cli", {"core", "planner", "simulator", "report", "operator"}},
  };
  return table;
}

bool lies_in(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

// Returns the module with the longest name that is a prefix of the path, or null.
const Module* module_of(const std::string& path) {
  const Module* best = nullptr;
  for (const Module& module : modules()) {
    if (lies_in(path, module.name) && (best == nullptr || module.name.size() > best->name.size())) best = &module;
  }
  return best;
}

// Returns the layer of the file's folder within its module, or the number of layers if the table does not name the
// folder.
std::size_t layer_of(const std::string& path, const Module& module) {
  const std::string folder = fs::path(folder_of(path)).lexically_relative(module.name).string();
  return static_cast<std::size_t>(std::ranges::find(module.layers, folder) - module.layers.begin());
}

bool may_include(const std::string& path, const std::string& header) {
  const Module* module = module_of(path);
  const Module* used = module_of(header);
  if (module == nullptr || used == nullptr) return false;
  if (used == module) return layer_of(header, *module) <= layer_of(path, *module);
  return std::ranges::any_of(module->may_include, [&](const std::string& name) { return lies_in(header, name); });
}

Names violations_of(const std::string& path, const Names& includes) {
  Names violations;
  for (const std::string& header : includes) {
    if (!may_include(path, header)) violations.push_back(path + " must not include " + header);
  }
  return violations;
}

// Returns the headers in quotes, and those of the project's folders in angle brackets.
Names own_includes(const fs::path& file) {
  static const std::regex pattern(
      R"re(^\s*#include\s+(?:"|<(?=(?:core|planner|simulator|report|operator|trainer|cli|tests)/))([^">]+)[">])re");
  std::ifstream stream(file);
  Names includes;
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) includes.push_back(match[1]);
  }
  return includes;
}

// Finds a path in a graph that ends where it begins, by depth-first search.
class CycleSearch {
 public:
  explicit CycleSearch(const Graph& graph) : graph_(graph) {}

  // Returns the nodes of one cycle in order, with the first node again at the end; empty if the graph has no cycle.
  Names run() {
    for (const auto& [node, targets] : graph_) {
      if (visit(node)) return {std::ranges::find(path_, path_.back()), path_.end()};
    }
    return {};
  }

 private:
  bool visit(const std::string& node) {
    const bool closes_cycle = std::ranges::find(path_, node) != path_.end();
    path_.push_back(node);
    if (closes_cycle) return true;
    if (done_.insert(node).second && graph_.contains(node)) {
      for (const std::string& target : graph_.at(node)) {
        if (visit(target)) return true;
      }
    }
    path_.pop_back();
    return false;
  }

  const Graph& graph_;
  std::set<std::string> done_;
  Names path_;
};

std::string cycle_in(const Graph& graph) {
  std::string text;
  for (const std::string& node : CycleSearch(graph).run()) text += (text.empty() ? "" : " -> ") + node;
  return text;
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions = {".h", ".cc", ".cu"};
  return extensions.contains(path.extension().string());
}

// main.cc files compose the program and may include anything.
bool is_composition_root(const fs::path& path) { return path.filename() == "main.cc"; }

// Maps the path of every source, except for composition roots, to the headers that it includes.
const std::map<std::string, Names>& sources() {
  static const std::map<std::string, Names> found = [] {
    const fs::path root = SAILOR_SOURCE_DIR;
    std::map<std::string, Names> files;
    for (const std::string top : {"core", "planner", "simulator", "report", "operator", "trainer", "cli"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
        if (!is_source(entry.path()) || is_composition_root(entry.path())) continue;
        files[fs::relative(entry.path(), root).string()] = own_includes(entry.path());
      }
    }
    return files;
  }();
  return found;
}

// A header and its source file are one node: "core/model/plan".
std::string unit_of(const std::string& path) { return fs::path(path).replace_extension().string(); }

template <class NodeOf>
Graph include_graph(NodeOf node_of) {
  Graph graph;
  for (const auto& [path, includes] : sources()) {
    for (const std::string& header : includes) {
      if (node_of(header) != node_of(path)) graph[node_of(path)].insert(node_of(header));
    }
  }
  return graph;
}

TEST(Layering, EverySourceIsFound) { EXPECT_GT(sources().size(), 300U); }

TEST(Layering, EveryFolderIsInTheTable) {
  std::set<std::string> folders;
  for (const auto& [path, includes] : sources()) folders.insert(folder_of(path));
  for (const std::string& folder : folders) {
    const Module* module = module_of(folder + "/");
    ASSERT_NE(module, nullptr) << folder << " lies in no module of the table";
    EXPECT_LT(layer_of(folder + "/", *module), module->layers.size())
        << folder << " is not among the folders of " << module->name;
  }
}

TEST(Layering, EveryFileIncludesOnlyWhatItsModuleMaySee) {
  for (const auto& [path, includes] : sources()) {
    for (const std::string& violation : violations_of(path, includes)) ADD_FAILURE() << violation;
  }
}

TEST(Layering, FilesDoNotIncludeEachOtherInACircle) { EXPECT_EQ(cycle_in(include_graph(unit_of)), ""); }

TEST(Layering, FoldersDoNotIncludeEachOtherInACircle) { EXPECT_EQ(cycle_in(include_graph(folder_of)), ""); }

// ccache returns a precompiled header that was made before a comment of one of its headers changed. "#pragma once" then
// takes the changed file for another one, and the build fails with "redefinition".
TEST(Layering, PrecompiledHeadersIncludeNothingOfTheProject) {
  const fs::path root = SAILOR_SOURCE_DIR;
  std::size_t found = 0;
  for (const std::string top : {"operator", "trainer", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.path().string().ends_with(".pch.h")) continue;
      ++found;
      EXPECT_EQ(own_includes(entry.path()), Names{}) << entry.path();
    }
  }
  EXPECT_GT(found, 1U);
}

// Of the headers that a CMake file puts into angle brackets, as it must those to precompile, returns those of the
// project.
Names own_headers_in(const fs::path& cmake_file) {
  static const std::regex pattern("<([^<>:;]+[.]h)>");
  std::ifstream stream(cmake_file);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  Names headers;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    if (fs::exists(fs::path(SAILOR_SOURCE_DIR) / (*match)[1].str())) headers.push_back((*match)[1]);
  }
  return headers;
}

TEST(Layering, PrecompiledHeadersOfTheProjectHaveTheNameByWhichTheyAreChecked) {
  const fs::path root = SAILOR_SOURCE_DIR;
  std::vector<fs::path> files = {root / "CMakeLists.txt"};
  for (const std::string top :
       {"cmake", "core", "planner", "simulator", "report", "operator", "trainer", "cli", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const fs::path& path = entry.path();
      if (path.filename() == "CMakeLists.txt" || path.extension() == ".cmake") files.push_back(path);
    }
  }
  std::size_t found = 0;
  for (const fs::path& file : files) {
    for (const std::string& header : own_headers_in(file)) {
      ++found;
      EXPECT_TRUE(header.ends_with(".pch.h")) << file << " precompiles " << header;
    }
  }
  EXPECT_GT(found, 1U);
}

TEST(Layering, AForbiddenIncludeIsNamed) {
  EXPECT_EQ(violations_of("planner/planner.h", {"operator/reconcile/decide.h"}),
            Names{"planner/planner.h must not include operator/reconcile/decide.h"});
  EXPECT_EQ(violations_of("trainer/step/training_step.cc", {"planner/planner.h"}).size(), 1U);
  EXPECT_EQ(violations_of("simulator/memory.cc", {"planner/search/search.h"}).size(), 1U);
  EXPECT_TRUE(violations_of("simulator/memory.cc", {"core/model/plan.h", "planner/problem/estimator.h"}).empty());
}

TEST(Layering, AFolderMayIncludeOnlyLowerLayersOfItsModule) {
  EXPECT_TRUE(violations_of("planner/search/search.h", {"planner/replan/repair.h"}).empty());
  EXPECT_EQ(violations_of("planner/replan/repair.h", {"planner/search/search.h"}),
            Names{"planner/replan/repair.h must not include planner/search/search.h"});
}

TEST(Layering, ACycleIsReportedWithAllItsFiles) {
  EXPECT_EQ(cycle_in({{"a", {"b"}}, {"b", {"c", "d"}}, {"c", {}}, {"d", {"b"}}}), "b -> d -> b");
  EXPECT_EQ(cycle_in({{"a", {"b", "c"}}, {"b", {"d"}}, {"c", {"d"}}}), "");
}

}  // namespace
