#include "trainer/process/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sailor::trainer {
namespace {

constexpr int kChannelInChild = 3;

tl::unexpected<Error> cannot_start(const std::string& program, int error) {
  return fail(ErrorCode::kUnavailable, fmt::format("starting {}: {}", program, std::strerror(error)));
}

// The child gets its end of the channel as file descriptor 3. Signals that this process blocks are not blocked in it.
int spawn(const std::string& program, const std::vector<std::string>& arguments, int channel, pid_t& pid) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel, kChannelInChild);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Returns why a worker gets this signal, where there is only one usual reason.
std::string_view usual_cause(int signal) {
  return signal == SIGBUS ? " (a file that it reads, such as training data, was shortened, or its volume failed)" : "";
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::string& program,
                                                          std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return cannot_start(program, errno);
  auto ours = std::make_unique<Channel>(ends[0]);
  int theirs = ends[1];
  if (theirs == kChannelInChild) {  // duplicated onto itself, exec would close it
    theirs = ::fcntl(theirs, F_DUPFD_CLOEXEC, kChannelInChild + 1);
    ::close(ends[1]);
  }
  arguments.insert(arguments.end(), {"--channel", std::to_string(kChannelInChild)});
  pid_t pid = 0;
  const int error = spawn(program, arguments, theirs, pid);
  ::close(theirs);
  if (error != 0) return cannot_start(program, error);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, std::move(ours)));
}

ChildProcess::~ChildProcess() {
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::kill() const { ::kill(pid_, SIGKILL); }

std::string ChildProcess::wait_for_end() const {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  if (info.si_code == CLD_EXITED) return fmt::format("ended with status {}", info.si_status);
  return fmt::format("was killed by signal {}{}", info.si_status, usual_cause(info.si_status));
}

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace sailor::trainer
