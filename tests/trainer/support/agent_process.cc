#include "tests/trainer/support/agent_process.h"

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/protocol/endpoints.h"
#include "core/protocol/ports.h"
#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/http.h"

namespace sailor::trainer::testing {
namespace {

constexpr std::chrono::seconds kLongest{120};  // a test that waits longer has failed

// Wakes up when something is written into a file. A change since its making is never missed.
class FileWatch {
 public:
  explicit FileWatch(const std::filesystem::path& file) : fd_(::inotify_init1(IN_CLOEXEC)) {
    if (::inotify_add_watch(fd_, file.c_str(), IN_MODIFY) < 0)
      throw std::runtime_error("cannot watch " + file.string());
  }
  ~FileWatch() { ::close(fd_); }
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // False: nothing was written until then.
  [[nodiscard]] bool wait_for_change(std::chrono::steady_clock::time_point deadline) const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) <= 0) return false;
    std::array<char, 4096> events;
    return ::read(fd_, events.data(), events.size()) > 0;
  }

 private:
  int fd_;
};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

AgentProcess::AgentProcess(const std::filesystem::path& folder, std::vector<std::string> more, int gpus,
                           std::string host)
    : folder_(folder), host_(host.empty() ? own_address() : std::move(host)), gpus_(gpus) {
  static int count = 0;
  name_ = fmt::format("pod-{}", count++);
  const std::string log_file = (folder_ / (name_ + ".log")).string();
  std::vector<std::string> arguments = {SAILOR_TRAINER_PROGRAM,
                                        "agent",
                                        "--name",
                                        name_,
                                        "--host",
                                        host_,
                                        "--gpus",
                                        std::to_string(gpus),
                                        "--termination-log",
                                        (folder_ / name_).string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int error = posix_spawn(&pid_, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start {}: error {}", arguments.front(), error));
}

AgentProcess::~AgentProcess() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

AgentAddress AgentProcess::address() const {
  return {.name = name_, .host = host_, .port = kAgentPort, .store_port = kStorePort, .pool = {}, .gpus = gpus_};
}

std::vector<pid_t> AgentProcess::workers() const {
  std::istringstream children(content_of(fmt::format("/proc/{}/task/{}/children", pid_, pid_)));
  std::vector<pid_t> ids;
  for (pid_t id = 0; children >> id;) ids.push_back(id);
  return ids;
}

void AgentProcess::wait_until_ready() const {
  (void)wait_until([](const AgentReport&) { return true; });
}

void AgentProcess::wait_for_log(const std::string& text) const {
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  const FileWatch log_file(folder_ / (name_ + ".log"));
  while (log().find(text) == std::string::npos) {
    if (!log_file.wait_for_change(deadline)) throw std::runtime_error(fmt::format("{} did not log {}", name_, text));
  }
}

int AgentProcess::put(const Assignment& assignment) const {
  return http("PUT", host_, kAgentPort, std::string(kAssignmentPath), to_json(assignment).dump()).status;
}

AgentReport AgentProcess::report() const {
  const HttpReply reply = http("GET", host_, kAgentPort, std::string(kStatePath));
  auto report = agent_report_from_json(reply.body);
  if (!report) throw std::runtime_error(fmt::format("{} answered {}: {}", name_, reply.status, report.error().message));
  return *std::move(report);
}

AgentReport AgentProcess::wait_until(const std::function<bool(const AgentReport&)>& is_so) const {
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  const FileWatch log_file(folder_ / (name_ + ".log"));  // an agent and its workers write down every change
  HttpReply reply;
  do {
    reply = http("GET", host_, kAgentPort, std::string(kStatePath));
    if (reply.status == 200) {
      const auto report = agent_report_from_json(reply.body);
      if (report && is_so(*report)) return *report;
    }
  } while (log_file.wait_for_change(deadline));
  throw std::runtime_error(fmt::format("{} did not come to what was waited for; its last answer: {} {}", name_,
                                       reply.status, reply.body.dump()));
}

void AgentProcess::signal(int number) const { ::kill(pid_, number); }

int AgentProcess::wait_for_exit() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string AgentProcess::termination_report() const { return content_of(folder_ / name_); }

std::string AgentProcess::log() const { return content_of(folder_ / (name_ + ".log")); }

}  // namespace sailor::trainer::testing
