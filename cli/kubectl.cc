#include "cli/kubectl.h"

#include <array>
#include <cerrno>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sailor::cli {
namespace {

// A file in memory that a program writes to.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("kubectl", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::string text() const {
    std::string text;
    std::array<char, 65536> part{};
    for (ssize_t count = 0; (count = pread(descriptor_, part.data(), part.size(), std::ssize(text))) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int descriptor_;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

Error cannot_run(int error) {
  return {ErrorCode::kUnavailable, fmt::format("running kubectl: {}; install it, or add its folder to PATH",
                                               std::generic_category().message(error))};
}

// Returns the exit status; above 255 if a signal ended the program.
Result<int> spawn(std::vector<std::string> command, const MemoryFile& output, const MemoryFile& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, command.front().c_str(), &actions, nullptr, pointers(command).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return tl::unexpected(cannot_run(failed));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kSignalled = 256;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

ErrorCode code_of(const std::string& said) {
  if (said.find("(NotFound)") != std::string::npos) return ErrorCode::kNotFound;
  if (said.find("(Forbidden)") != std::string::npos) return ErrorCode::kForbidden;
  return ErrorCode::kUnavailable;
}

// Returns what kubectl says to its user: its text without its log, or the log if there is nothing else. kubectl logs
// each of its attempts before it says what is wrong.
std::string message_in(const std::string& errors) {
  static const std::regex log_line(R"(^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\] )");
  std::string message;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, log_line)) message += line + "\n";
  }
  const std::string& said = message.empty() ? errors : message;
  return said.substr(0, said.find_last_not_of('\n') + 1);
}

}  // namespace

std::vector<std::string> Kubectl::command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{"kubectl"};
  if (!options_.kubeconfig.empty()) command.push_back("--kubeconfig=" + options_.kubeconfig);
  if (!options_.context.empty()) command.push_back("--context=" + options_.context);
  if (!options_.name_space.empty()) command.push_back("--namespace=" + options_.name_space);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Result<std::string> Kubectl::run(const std::vector<std::string>& arguments) const {
  const MemoryFile output;
  const MemoryFile errors;
  const auto status = spawn(command(arguments), output, errors);
  if (!status) return tl::unexpected(status.error());
  if (*status == 0) return output.text();
  const std::string said = message_in(errors.text());
  return fail(code_of(said), fmt::format("kubectl {}: {}", fmt::join(arguments, " "),
                                         said.empty() ? fmt::format("it ended with status {}", *status) : said));
}

Result<std::vector<kube::Object>> Kubectl::get(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "get");
  arguments.insert(arguments.end(), {"-o", "json"});
  const auto text = run(arguments);
  if (!text) return tl::unexpected(text.error());
  kube::Json json = kube::Json::parse(*text, nullptr, false);
  if (json.is_discarded()) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("kubectl {}: its output is not JSON; update kubectl", fmt::join(arguments, " ")));
  }
  std::vector<kube::Object> objects;
  if (!json.contains("items")) {
    objects.push_back(std::make_shared<const kube::Json>(std::move(json)));
    return objects;
  }
  for (kube::Json& item : json["items"]) objects.push_back(std::make_shared<const kube::Json>(std::move(item)));
  return objects;
}

Error Kubectl::become(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = command(arguments);
  execvp(words.front().c_str(), pointers(words).data());
  return cannot_run(errno);
}

}  // namespace sailor::cli
