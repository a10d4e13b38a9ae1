#include "trainer/device/host_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "core/model/parse_number.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

// The number after this word in a file of lines "word number".
std::optional<std::int64_t> number_after(const fs::path& file, const std::string& word) {
  std::ifstream lines(file);
  for (std::string name, number; lines >> name >> number; lines.ignore(80, '\n')) {
    if (name == word) return parse_number<std::int64_t>(number);
  }
  return std::nullopt;
}

// A file with one number; nothing if it says "max", which is no limit.
std::optional<std::int64_t> number_in(const fs::path& file) {
  std::string number;
  std::ifstream(file) >> number;
  return parse_number<std::int64_t>(number);
}

// The group of version 2 in /proc/self/cgroup: "0::/kubepods/pod1".
fs::path control_group(const fs::path& root) {
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return {};
}

// The kernel drops pages of files that are not in use before it ends a process.
std::optional<std::int64_t> left_in_group(const fs::path& group) {
  const auto limit = number_in(group / "memory.max"), used = number_in(group / "memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit - *used + number_after(group / "memory.stat", "inactive_file").value_or(0);
}

}  // namespace

std::optional<std::int64_t> available_host_memory(const fs::path& root) {
  constexpr std::int64_t kKibibyte = 1024;
  const auto of_machine = number_after(root / "proc/meminfo", "MemAvailable:");
  if (!of_machine) return std::nullopt;
  std::int64_t left = *of_machine * kKibibyte;
  const fs::path groups = root / "sys/fs/cgroup";
  for (fs::path group = control_group(root);; group = group.parent_path()) {
    left = std::min(left, left_in_group(groups / group).value_or(left));
    if (group.empty()) return std::max<std::int64_t>(left, 0);
  }
}

}  // namespace sailor::trainer
