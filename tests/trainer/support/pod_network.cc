#include "tests/trainer/support/pod_network.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sailor::trainer::testing {
namespace {

constexpr const char* kBridge = "pods";

std::string port_of(int pod) { return fmt::format("pod{}", pod); }

// On this thread, and so in its namespace.
void run(const std::string& command_line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= command_line.size();) {
    const std::size_t end = std::min(command_line.find(' ', at), command_line.size());
    words.push_back(command_line.substr(at, end - at));
    at = end + 1;
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  int status = 0;
  const bool is_done = posix_spawnp(&pid, argv.front(), nullptr, nullptr, argv.data(), environ) == 0 &&
                       waitpid(pid, &status, 0) == pid && status == 0;
  if (!is_done) throw std::runtime_error("cannot do: " + command_line);
}

void enter_own_namespace(int kinds) {
  if (unshare(kinds) != 0) throw std::runtime_error(fmt::format("cannot make a namespace: {}", std::strerror(errno)));
}

// Who is not root may be so in a namespace of users.
void become_root_of_namespace(uid_t user, gid_t group) {
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
  std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
}

void make_bridge() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  enter_own_namespace(user == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET);
  if (user != 0) become_root_of_namespace(user, group);
  run("ip link set lo up");
  run(fmt::format("ip link add {} type bridge", kBridge));
  run(fmt::format("ip address add 10.0.0.254/24 dev {}", kBridge));
  run(fmt::format("ip link set {} up", kBridge));
}

}  // namespace

PodNetwork::PodNetwork() : home_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  try {
    make_bridge();
  } catch (const std::exception& error) {
    fault_ = error.what();
  }
}

PodNetwork::~PodNetwork() {
  (void)setns(home_, CLONE_NEWNET);
  close(home_);
}

void PodNetwork::add_pod(const std::function<void(const std::string& host)>& start) {
  const int pod = pods_++;
  const std::string host = fmt::format("10.0.0.{}", pod + 1);
  const pid_t bridge_owner = gettid();
  std::async(std::launch::async, [&] {
    enter_own_namespace(CLONE_NEWNET);
    run("ip link set lo up");
    run(fmt::format("ip link add eth0 type veth peer name {} netns {}", port_of(pod), bridge_owner));
    run(fmt::format("ip address add {}/24 dev eth0", host));
    run("ip link set eth0 up");
    start(host);
  }).get();
  run(fmt::format("ip link set {} master {} up", port_of(pod), kBridge));
}

void PodNetwork::limit_rate_to(int pod, int megabytes_per_second) {
  run(fmt::format("tc qdisc add dev {} root tbf rate {}mbps burst 64kb latency 1s", port_of(pod),
                  megabytes_per_second));
}

void PodNetwork::cut_between(const std::vector<int>& pods) {
  for (const int pod : pods) run(fmt::format("bridge link set dev {} isolated on", port_of(pod)));
}

}  // namespace sailor::trainer::testing
