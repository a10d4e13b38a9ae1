// An agent with credentials: it obeys the operator alone, proves who it is, and follows its files when they change.
#include "trainer/agent/agent_credentials.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/http_client.h"
#include "core/protocol/agent_report.h"
#include "core/protocol/credentials.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/exit_status.h"
#include "core/protocol/ports.h"
#include "tests/core/net/test_authority.h"
#include "tests/trainer/support/agents.h"

namespace sailor::trainer::testing {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
namespace tls = net::testing;

const JobKey kOwnJob{"default", "tiny"};

class Credentials : public Agents {
 protected:
  void write(const net::TlsSettings& credentials) const {
    for (const auto& [file, text] : {std::pair{kCaFile, credentials.ca}, std::pair{kKeyFile, credentials.key},
                                     std::pair{kCertificateFile, credentials.certificate}}) {
      std::ofstream(folder_ / file, std::ios::trunc) << text;
    }
  }
  AgentProcess& start_agent() {
    write(authority_.settings(job_uri(kOwnJob)));
    agents_.push_back(std::make_unique<AgentProcess>(scratch_.folder(), arguments_));
    agents_.back()->wait_for_log("agent ready");
    return *agents_.back();
  }
  static Result<net::HttpResponse> ask(const AgentProcess& agent, const net::TlsSettings& as,
                                       const net::HttpRequest& request = {.target = std::string(kStatePath)}) {
    return net::HttpClient(net::https_url(agent.address().host, kAgentPort), {.tls = as}).send(request);
  }
  [[nodiscard]] net::TlsSettings client(const std::string& uri) const {
    return authority_.settings(uri, job_uri(kOwnJob));
  }

  const tls::TestAuthority authority_;
  const std::filesystem::path folder_ = scratch_.folder() / "credentials";
  const bool is_made_ = std::filesystem::create_directory(folder_);
  const std::vector<std::string> arguments_ = {"--credentials", folder_.string()};
};

TEST_F(Credentials, LetTheOperatorAlonePollAndAssign) {
  const AgentProcess& agent = start_agent();
  const net::HttpRequest assignment{.method = "PUT",
                                    .target = std::string(kAssignmentPath),
                                    .body = to_json(job(10)).dump(),
                                    .content_type = "application/json"};
  const auto status = [&](const std::string& as, const net::HttpRequest& request) {
    return ask(agent, client(as), request).value().status;
  };
  EXPECT_EQ(status(operator_uri(), {.target = std::string(kStatePath)}), 200);
  EXPECT_EQ(status(operator_uri(), assignment), 400) << "it is for another agent";
  for (const std::string& other : {job_uri(kOwnJob), job_uri({"default", "other"})}) {
    EXPECT_EQ(status(other, {.target = std::string(kStatePath)}), 403);
    EXPECT_EQ(status(other, assignment), 403);
  }
  const net::TlsSettings nobody{.ca = authority_.authority.identity().certificate, .server_uri = job_uri(kOwnJob)};
  EXPECT_EQ(ask(agent, nobody, assignment).value().status, 403);
  EXPECT_EQ(ask(agent, nobody, {.target = std::string(kHealthPath)}).value().status, 200) << "the kubelet has no more";
  const tls::TestAuthority foreign;
  net::TlsSettings impostor = foreign.settings(operator_uri(), job_uri(kOwnJob));
  impostor.ca = nobody.ca;
  EXPECT_FALSE(ask(agent, impostor)) << "an operator of another CA";
}

TEST_F(Credentials, AreToldToTheOperatorWithTheirExpiry) {
  const AgentProcess& agent = start_agent();
  const auto answer = ask(agent, client(operator_uri()));
  ASSERT_TRUE(answer) << answer.error().message;
  const auto report = agent_report_from_json(nlohmann::json::parse(answer->body));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->credentials_expire, AgentCredentials::read(folder_).value()->expiry());
}

TEST_F(Credentials, ThatCannotBeReadEndTheAgentWithASentence) {
  AgentProcess agent(scratch_.folder(), arguments_);
  EXPECT_EQ(agent.wait_for_exit(), kExitBadInput);
  EXPECT_THAT(agent.log(), HasSubstr("reading the agent's credentials"));
  EXPECT_THAT(agent.log(), HasSubstr("ca.crt cannot be read, or is empty"));
}

TEST_F(Credentials, AreReadAgainWhenTheyChange) {
  write(authority_.settings(job_uri(kOwnJob)));
  const auto credentials = AgentCredentials::read(folder_, std::chrono::milliseconds(0)).value();
  const auto first = credentials->server();
  EXPECT_EQ(credentials->server(), first);
  write(authority_.settings(job_uri(kOwnJob), {}, tls::around_now(hours(1), hours(5))));
  const auto second = credentials->server();
  EXPECT_NE(second, first);
  EXPECT_EQ(net::expiry_of(second->certificate).value(), credentials->expiry());
}

TEST_F(Credentials, ThatAreHalfWrittenDoNotReplaceThoseBefore) {
  write(authority_.settings(job_uri(kOwnJob)));
  const auto credentials = AgentCredentials::read(folder_, std::chrono::milliseconds(0)).value();
  const auto first = credentials->server();
  const net::TlsSettings next = authority_.settings(job_uri(kOwnJob));
  std::ofstream(folder_ / kCertificateFile, std::ios::trunc) << next.certificate;  // its key is not there yet
  EXPECT_EQ(credentials->server(), first);
  std::ofstream(folder_ / kKeyFile, std::ios::trunc) << next.key;
  EXPECT_EQ(credentials->server()->key, next.key);
}

TEST_F(Credentials, ExpectTheOperatorAndThePeersByTheirUris) {
  write(authority_.settings(job_uri(kOwnJob)));
  const auto credentials = AgentCredentials::read(folder_).value();
  EXPECT_EQ(credentials->client_of_operator().server_uri, operator_uri());
  EXPECT_EQ(credentials->client_of_peer().server_uri, job_uri(kOwnJob));
}

}  // namespace
}  // namespace sailor::trainer::testing
