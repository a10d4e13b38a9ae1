// Over real connections on loopback: watches arrive as they are sent, agents are polled and told.
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/http_server.h"
#include "core/protocol/credentials.h"
#include "core/protocol/endpoints.h"
#include "operator/agents/agent_link.h"
#include "operator/agents/deleted_jobs.h"
#include "operator/kube/http_transport.h"
#include "tests/core/net/tcp_peer.h"
#include "tests/core/net/test_authority.h"
#include "tests/support/shared_value.h"

namespace sailor {
namespace {

using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(30);  // much longer than needed, so a timeout is a failure

// Something that happens on another thread, waited for.
class Signal {
 public:
  void set() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait_until(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      const int before = count_;
      if (!changed_.wait_until(lock, end, [&] { return count_ != before; })) return holds();
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

using net::testing::free_port;
using net::testing::TcpListener;

TEST(HttpTransport, HandsOverAShortChunkWhileTheWatchGoesOn) {
  const TcpListener server;
  Signal signal;
  std::atomic<bool> arrived = false;
  std::jthread peer([&] {
    const net::testing::Socket client = server.accept();
    EXPECT_FALSE(client.receive().empty());
    EXPECT_TRUE(client.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (const std::string line : {"first\n", "second\n"}) {
      arrived = false;
      EXPECT_TRUE(client.send(fmt::format("{:x}\r\n{}\r\n", line.size(), line)));
      EXPECT_TRUE(signal.wait_until([&] { return arrived.load(); })) << line << " is stuck";
    }
    EXPECT_TRUE(client.send("0\r\n\r\n"));
  });
  kube::ClusterConfig config;
  config.server = net::http_url("127.0.0.1", server.port());
  kube::HttpTransport transport(config);
  std::string text;
  const auto response = transport.stream({"GET", "/watch", "", ""},
                                         [&](std::string_view chunk) {
                                           text += chunk;
                                           arrived = true;
                                           signal.set();
                                         },
                                         {});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(text, "first\nsecond\n");
}

TEST(HttpTransport, SaysThatNobodyAnswers) {
  kube::ClusterConfig config;
  config.server = fmt::format("http://127.0.0.1:{}", free_port());
  kube::HttpTransport transport(config);
  EXPECT_THROW(transport.send({"GET", "/", "", ""}), kube::TransportError);
}

// An agent of one worker that obeys every assignment at once.
class FakeAgent {
 public:
  // With an identity it speaks HTTPS, and obeys the operator alone.
  explicit FakeAgent(std::shared_ptr<const net::TlsSettings> identity = nullptr) : identity_(std::move(identity)) {}

  const int port = free_port();
  std::atomic<std::int64_t> generation = 0;
  std::atomic<WorkerPhase> phase = WorkerPhase::kTraining;
  std::atomic<bool> has_fault = false;       // it answers with a server error
  std::atomic<bool> tells_nonsense = false;  // its reports are of another shape
  std::atomic<bool> refuses = false;         // it refuses every assignment
  std::atomic<std::int64_t> polls = 0;       // and its worker does a step between two of them
  std::atomic<std::int64_t> assignments = 0;
  Signal polled;

 private:
  net::HttpAnswer take(const std::string& body) {
    ++assignments;
    if (refuses) return net::json_answer(400, {{"error", "it is for another agent"}});
    generation = nlohmann::json::parse(body).at("generation").get<std::int64_t>();
    return report();
  }
  net::HttpAnswer poll() {
    ++polls;
    polled.set();
    return has_fault ? net::HttpAnswer{500, "broken"} : report();
  }
  [[nodiscard]] net::HttpAnswer report() const {
    if (tells_nonsense) return net::json_answer(200, {{"agent", "pod-0"}, {"workers", 7}});
    AgentReport report{"pod-0", false, {{0, phase, generation, polls, ""}}, std::nullopt};
    report.workers.front().microbatch_seconds = report.workers.front().probe_seconds =
        1.0 / static_cast<double>(1 + polls);
    return net::json_answer(200, to_json(report));
  }
  [[nodiscard]] net::HttpServerSettings settings() const {
    if (identity_ == nullptr) return {};
    return {.tls = [this] { return identity_; }};
  }
  const std::shared_ptr<const net::TlsSettings> identity_;
  const std::string who_ = identity_ == nullptr ? "" : operator_uri();
  const std::unique_ptr<net::HttpServer> server_ =
      net::HttpServer::listen(
          net::address_of("127.0.0.1", port),
          {{"GET", std::string(kStatePath), [this](const auto&) { return poll(); }, who_},
           {"PUT", std::string(kAssignmentPath), [this](const auto& call) { return take(call.body); }, who_}},
          settings())
          .value();
};

const JobKey kJob{"default", "job"};

AgentLink::Options quick() {
  AgentLink::Options options;
  options.period = std::chrono::milliseconds(5);
  options.quick_period = std::chrono::milliseconds(5);
  return options;
}

TEST(AgentLink, PollsAnAgentAndTellsItsGeneration) {
  FakeAgent agent;
  Signal signal;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) { signal.set(); });
  const auto view = [&] { return link.views(kJob)["uid"]; };
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return view().answers(); }));
  auto assignment = std::make_shared<Assignment>();
  assignment->generation = 3;
  link.send(kJob, "uid", assignment);
  EXPECT_TRUE(signal.wait_until([&] { return view().report && view().report->workers.at(0).generation == 3; }));
}

// An agent with certificates, and an operator that has the same CA.
class AgentsWithCredentials : public ::testing::Test {
 protected:
  AgentLink::Options options() {
    AgentLink::Options options = quick();
    options.identity = [this] { return own.load(); };
    return options;
  }
  void expect_obeyed(AgentLink& link, const FakeAgent& agent, std::int64_t generation) {
    auto assignment = std::make_shared<Assignment>();
    assignment->generation = generation;
    EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].answers(); }));
    link.send(kJob, "uid", assignment);
    EXPECT_TRUE(signal.wait_until([&] { return agent.generation == generation; }));
  }

  const net::testing::TestAuthority authority;
  SharedValue<std::shared_ptr<const net::TlsSettings>> own{authority.shared(operator_uri())};
  Signal signal;
};

TEST_F(AgentsWithCredentials, ArePolledAndToldByTheOperatorOfTheirCa) {
  FakeAgent agent(authority.shared(job_uri(kJob)));
  AgentLink link(options(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  expect_obeyed(link, agent, 3);
}

TEST_F(AgentsWithCredentials, AreStillToldAfterTheOperatorsCertificateIsReplaced) {
  FakeAgent agent(authority.shared(job_uri(kJob)));
  AgentLink link(options(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  expect_obeyed(link, agent, 3);
  own = authority.shared(operator_uri());
  expect_obeyed(link, agent, 4);
}

TEST_F(AgentsWithCredentials, OfAnotherJobDoNotCountAsThoseOfThisOne) {
  FakeAgent agent(authority.shared(job_uri({"default", "other"})));
  AgentLink link(options(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].unanswered_polls > 2; }));
  EXPECT_EQ(agent.polls, 0);
  EXPECT_THAT(link.views(kJob)["uid"].tls_fault, HasSubstr("the certificate names another program"));
}

TEST_F(AgentsWithCredentials, OfAnotherCaAreToldFromThoseThatDoNotAnswer) {
  const net::testing::TestAuthority other;
  const auto fault_with = [&](const net::TlsSettings& credentials) {
    FakeAgent agent(std::make_shared<const net::TlsSettings>(credentials));
    AgentLink link(options(), [&](const JobKey&, AgentNews) { signal.set(); });
    link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
    EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].unanswered_polls > 0; }));
    return link.views(kJob)["uid"].tls_fault;
  };
  EXPECT_THAT(fault_with(other.settings(job_uri(kJob))), HasSubstr("certificate verify failed"));
  net::TlsSettings trusts_other = authority.settings(job_uri(kJob));
  trusts_other.ca = other.authority.identity().certificate;
  EXPECT_THAT(fault_with(trusts_other), HasSubstr("alert")) << "the agent refuses the operator";
  const net::ValidityPeriod past = net::testing::around_now(std::chrono::hours(2), std::chrono::hours(-1));
  EXPECT_THAT(fault_with(authority.settings(job_uri(kJob), "", past)), HasSubstr("certificate has expired"));
}

TEST_F(AgentsWithCredentials, HaveNoFaultOnceAPollSucceeds) {
  const net::testing::TestAuthority other;
  own = other.shared(operator_uri());
  FakeAgent agent(authority.shared(job_uri(kJob)));
  AgentLink link(options(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return !link.views(kJob)["uid"].tls_fault.empty(); }));
  own = authority.shared(operator_uri());
  expect_obeyed(link, agent, 1);
  EXPECT_EQ(link.views(kJob)["uid"].tls_fault, "");
}

// The operator answers each call of `changed` by the same assignment, as it does until the agent has it.
TEST(AgentLink, RepeatsARefusedAssignmentOnceAPoll) {
  FakeAgent agent;
  agent.refuses = true;
  auto assignment = std::make_shared<Assignment>();
  assignment->generation = 3;
  std::atomic<AgentLink*> sender = nullptr;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) {
    if (AgentLink* const known = sender) known->send(kJob, "uid", assignment);
  });
  sender = &link;
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(agent.polled.wait_until([&] { return agent.assignments >= 10; })) << "it is repeated";
  EXPECT_LE(agent.assignments, agent.polls);
  agent.refuses = false;
  EXPECT_TRUE(agent.polled.wait_until([&] { return agent.generation == 3; }));
}

TEST(AgentLink, KnowsWhyAnAgentRefusesAnAssignmentUntilItAcceptsOne) {
  FakeAgent agent;
  agent.refuses = true;
  Signal signal;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) { signal.set(); });
  const auto view = [&] { return link.views(kJob)["uid"]; };
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  auto assignment = std::make_shared<Assignment>();
  assignment->generation = 3;
  link.send(kJob, "uid", assignment);
  EXPECT_TRUE(signal.wait_until([&] { return view().refusal == "it is for another agent"; }));
  agent.refuses = false;
  link.send(kJob, "uid", assignment);
  EXPECT_TRUE(signal.wait_until([&] { return agent.generation == 3 && view().refusal.empty(); }));
}

TEST(AgentLink, CountsPollsWithoutAnAnswerAndForgetsThemAtTheNext) {
  Signal signal;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", free_port()}});
  EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].unanswered_polls >= 2; }));
  EXPECT_FALSE(link.views(kJob)["uid"].answers());
  EXPECT_EQ(link.views(kJob)["uid"].tls_fault, "") << "nobody is there";
  link.follow(kJob, {});
  EXPECT_TRUE(link.views(kJob).empty());
}

TEST(AgentLink, AsksFewAgentsAtTheSameTimeThatHaveNotAnsweredYet) {
  std::mutex mutex;
  std::condition_variable arrived;
  int polls = 0;
  bool have_met = false;
  // Waits for another poll, so that two that are on their way at the same time meet.
  const auto answer = [&](const auto&) {
    std::unique_lock lock(mutex);
    have_met = have_met || ++polls > 1;
    arrived.notify_all();
    arrived.wait_for(lock, std::chrono::milliseconds(100), [&] { return have_met; });
    --polls;
    return net::json_answer(200, to_json(AgentReport{"pod-0", false, {}, std::nullopt}));
  };
  const int port = free_port();
  const auto server =
      net::HttpServer::listen(net::address_of("127.0.0.1", port), {{"GET", std::string(kStatePath), answer}}).value();
  Signal signal;
  AgentLink::Options options;
  options.period = kPatience;
  options.timeout = kPatience;
  options.first_polls_at_once = 1;
  AgentLink link(options, [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(
      kJob, {{"a", "pod-0", "127.0.0.1", port}, {"b", "pod-0", "127.0.0.1", port}, {"c", "pod-0", "127.0.0.1", port}});
  EXPECT_TRUE(signal.wait_until(
      [&] { return std::ranges::all_of(link.views(kJob), [](const auto& view) { return view.second.answers(); }); }));
  EXPECT_FALSE(have_met);
}

TEST(AgentLink, SilentAgentsDoNotKeepItFromAskingOthers) {
  const TcpListener silent;  // the kernel accepts connections to it, and nobody answers
  const FakeAgent agent;
  Signal signal;
  AgentLink::Options options = quick();
  options.timeout = std::chrono::milliseconds(50);
  options.first_polls_at_once = 1;
  AgentLink link(options, [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"a", "pod-1", "127.0.0.1", silent.port()},
                     {"b", "pod-2", "127.0.0.1", silent.port()},
                     {"c", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return agent.polls > 0; }));
}

TEST(AgentLink, KnowsSinceWhenAWorkerPreparesItsGeneration) {
  FakeAgent agent;
  Signal signal;
  Time now = *parse_rfc3339("2026-01-01T00:00:00Z");
  std::mutex mutex;
  AgentLink::Options options = quick();
  options.clock = [&] {
    const std::scoped_lock lock(mutex);
    return now += std::chrono::seconds(1);
  };
  AgentLink link(options, [&](const JobKey&, AgentNews) { signal.set(); });
  const auto since = [&] { return link.views(kJob)["uid"].preparing_since; };
  agent.generation = 1;
  agent.phase = WorkerPhase::kPreparing;
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return since().has_value(); }));
  const Time first = since().value();
  agent.generation = 2;
  EXPECT_TRUE(signal.wait_until([&] { return since() && *since() > first; }));
  agent.phase = WorkerPhase::kTraining;
  EXPECT_TRUE(signal.wait_until([&] { return !since(); }));
}

// A second between two polls would be too long for the limit of the signal.
TEST(AgentLink, PollsAnAgentWhoseWorkersPrepareAgainAfterTheQuickPeriod) {
  FakeAgent agent;
  agent.phase = WorkerPhase::kPreparing;
  AgentLink::Options options = quick();
  options.period = std::chrono::hours(1);
  AgentLink link(options, [](const JobKey&, AgentNews) {});
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(agent.polled.wait_until([&] { return agent.polls >= 200; }));
}

TEST(AgentLink, StepsAloneAreSeldomNews) {
  FakeAgent agent;
  std::atomic<int> calls = 0;
  AgentLink::Options options = quick();
  options.steps_period = std::chrono::hours(1);
  AgentLink link(options, [&](const JobKey&, AgentNews) { ++calls; });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(agent.polled.wait_until([&] { return agent.polls >= 30; }));
  EXPECT_LE(calls, 2) << "the first report, and the first one with other steps";
  agent.generation = 7;
  EXPECT_TRUE(agent.polled.wait_until([&] {
    const AgentView view = link.views(kJob)["uid"];
    return view.report && view.report->workers.at(0).generation == 7;
  }));
}

TEST(AgentLink, StepsOfManyJobsAreNewsInTurn) {
  FakeAgent agent;
  std::atomic<int> calls = 0;
  AgentLink::Options options = quick();
  options.steps_period = std::chrono::milliseconds(0);
  options.steps_period_of_all = std::chrono::hours(1);
  AgentLink link(options, [&](const JobKey&, AgentNews) { ++calls; });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(agent.polled.wait_until([&] { return agent.polls >= 30; }));
  EXPECT_LE(calls, 2) << "the first report, and the first one with other steps";
}

TEST(AgentLink, SaysWhetherMoreThanStepsIsNew) {
  FakeAgent agent;
  std::mutex mutex;
  std::vector<AgentNews> news;
  AgentLink::Options options = quick();
  options.steps_period = std::chrono::milliseconds(0);
  AgentLink link(options, [&](const JobKey&, AgentNews what) {
    const std::scoped_lock lock(mutex);
    news.push_back(what);
  });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(agent.polled.wait_until([&] {
    const std::scoped_lock lock(mutex);
    return news.size() >= 3;
  }));
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(news.at(0), AgentNews::kState) << "nothing was known of the agent";
  EXPECT_EQ(news.at(2), AgentNews::kSteps);
}

TEST(AgentLink, TheStepsOfManyAgentsAreNewsOnceForTheirJob) {
  std::array<FakeAgent, 8> agents;
  std::atomic<int> calls = 0;
  AgentLink::Options options = quick();
  options.steps_period = std::chrono::hours(1);
  AgentLink link(options, [&](const JobKey&, AgentNews) { ++calls; });
  std::vector<AgentTarget> targets;
  for (const FakeAgent& agent : agents) {
    targets.push_back({"uid-" + std::to_string(targets.size()), "pod-0", "127.0.0.1", agent.port});
  }
  link.follow(kJob, targets);
  for (FakeAgent& agent : agents) EXPECT_TRUE(agent.polled.wait_until([&] { return agent.polls >= 10; }));
  EXPECT_LE(calls, 9) << "the first report of each, and the first one with other steps";
}

TEST(AgentLink, PollsThatFailForLongAreNoNews) {
  FakeAgent agent;
  agent.has_fault = true;
  std::atomic<int> calls = 0;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) { ++calls; });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(agent.polled.wait_until([&] { return agent.polls >= 30; }));
  EXPECT_LE(calls, kHighestPollCount);
}

TEST(AgentLink, AReportOfAnotherShapeIsNoAnswer) {
  FakeAgent agent;
  agent.tells_nonsense = true;
  Signal signal;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-0", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].unanswered_polls >= 2; }));
  agent.tells_nonsense = false;
  EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].answers(); }));
}

TEST(AgentLink, TakesNoOtherPodsAnswerForThatOfItsOwn) {
  FakeAgent agent;
  Signal signal;
  AgentLink link(quick(), [&](const JobKey&, AgentNews) { signal.set(); });
  link.follow(kJob, {{"uid", "pod-1", "127.0.0.1", agent.port}});
  EXPECT_TRUE(signal.wait_until([&] { return link.views(kJob)["uid"].unanswered_polls >= 2; }));
}

TEST(DeletedJobs, AreRememberedUpToTenThousand) {
  DeletedJobs jobs;
  const JobKey name{"default", "job"};
  for (int i = 0; i <= 10000; ++i) {
    jobs.note(name, fmt::format("uid-{}", i));
    jobs.note_absence(name);
  }
  EXPECT_FALSE(jobs.contains("uid-0"));
  EXPECT_TRUE(jobs.contains("uid-1"));
  EXPECT_TRUE(jobs.contains("uid-10000"));
  EXPECT_FALSE(jobs.contains("never-seen"));
}

TEST(DeletedJobs, ContainAJobWhoseNameAnotherHas) {
  DeletedJobs jobs;
  jobs.note({"default", "job"}, "old");
  jobs.note({"default", "job"}, "old");
  EXPECT_FALSE(jobs.contains("old"));
  jobs.note({"default", "job"}, "new");
  EXPECT_TRUE(jobs.contains("old"));
  EXPECT_FALSE(jobs.contains("new"));
}

}  // namespace
}  // namespace sailor
