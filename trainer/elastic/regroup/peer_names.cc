#include "trainer/elastic/regroup/peer_names.h"

#include <regex>

#include <fmt/format.h>

namespace sailor::trainer {
namespace {

// The pods at this address. Only in tests several pods share one.
std::string pods_at(const Assignment& assignment, const std::string& host) {
  std::string names;
  for (const AgentAddress& agent : assignment.agents) {
    if (agent.host == host) names += (names.empty() ? "pod " : " or ") + agent.name;
  }
  return names;
}

template <class Name>
std::string replaced(const std::string& message, const std::regex& pattern, Name name) {
  std::string text;
  auto rest = message.cbegin();
  for (std::sregex_iterator match(message.begin(), message.end(), pattern), end; match != end; ++match) {
    text.append(rest, (*match)[0].first);
    text += name(*match);
    rest = (*match)[0].second;
  }
  return text.append(rest, message.cend());
}

}  // namespace

std::string name_of_worker(const Assignment& assignment, int rank) {
  const WorkerSlot& slot = assignment.workers.at(static_cast<std::size_t>(rank));
  return fmt::format("worker {} (pod {}, GPU {})", rank,
                     assignment.agents.at(static_cast<std::size_t>(slot.agent)).name, slot.gpu);
}

std::vector<std::string> names_of_workers(const Assignment& assignment) {
  std::vector<std::string> names;
  names.reserve(assignment.workers.size());
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) names.push_back(name_of_worker(assignment, rank));
  return names;
}

std::string with_peer_names(const std::string& message, const Assignment& assignment) {
  static const std::regex ranks(R"(\brank ([0-9]{1,6}))");
  static const std::regex addresses(R"(\[([0-9a-fA-F.:]+)\]:[0-9]+)");
  const std::string named = replaced(message, ranks, [&](const std::smatch& match) {
    const int rank = std::stoi(match[1]);
    return rank < std::ssize(assignment.workers) ? name_of_worker(assignment, rank) : match[0].str();
  });
  return replaced(named, addresses, [&](const std::smatch& match) {
    const std::string pods = pods_at(assignment, match[1]);
    return pods.empty() ? match[0].str() : pods;
  });
}

}  // namespace sailor::trainer
