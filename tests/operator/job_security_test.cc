// The credentials of a job's pods and its NetworkPolicy: written before its first pod, replaced each day, and gone with
// the job.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/base64.h"
#include "core/protocol/credentials.h"
#include "operator/model/names.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class JobSecurity : public JobOnTwoNodes {
 protected:
  [[nodiscard]] std::ptrdiff_t writes_of_credentials() const {
    return std::ranges::count_if(world.api_server.requests, [](const std::string& request) {
      return request.starts_with("PATCH") && request.find("/secrets/") != std::string::npos;
    });
  }
  // All agents report that their credentials expire in so long.
  void expire_in(hours left) {
    for (auto& [uid, agent] : world.agents) {
      if (agent.report) agent.report->credentials_expire = std::chrono::floor<std::chrono::seconds>(world.now) + left;
    }
  }
};

TEST_F(JobSecurity, IsWrittenBeforeTheFirstPod) {
  start();
  const auto& requests = world.api_server.requests;
  const auto first = [&](const std::string& text) {
    return std::ranges::find_if(requests, [&](const auto& request) { return request.find(text) != std::string::npos; });
  };
  EXPECT_LT(first("/secrets/"), first("POST /api/v1/namespaces/default/pods"));
  EXPECT_LT(first("/networkpolicies/"), first("POST /api/v1/namespaces/default/pods"));
  EXPECT_EQ(writes_of_credentials(), 1) << "once for all pods";
}

TEST_F(JobSecurity, IsWhatThePodsMount) {
  start();
  ASSERT_THAT(world.api_server.all("secrets"), SizeIs(1));
  const Json secret = world.api_server.all("secrets").front();
  for (const Json& pod : world.api_server.all("pods"))
    EXPECT_THAT(pod["spec"]["volumes"].dump(), HasSubstr(kube::name_of(secret)));
  EXPECT_EQ(secret["data"]["tls.crt"], "Y2VydGlmaWNhdGUgb2YgZGVmYXVsdC9qb2I=") << "certificate of default/job";
  const Json policy = world.api_server.all("networkpolicies").front();
  EXPECT_EQ(policy["spec"]["podSelector"]["matchLabels"][kJobUidLabel],
            kube::label_of(world.api_server.all("pods").front(), kJobUidLabel));
}

TEST_F(JobSecurity, IsReplacedEachDayAndNotMoreOften) {
  start();
  world.pass(hours(19));
  expire_in(kCertificateValidity - hours(19));
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 1);
  world.pass(hours(2));
  expire_in(kCertificateValidity - hours(21));
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 2);
  world.pass(minutes(5));
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 2) << "the kubelet has not shown the new ones to the agents yet";
  world.pass(minutes(10));
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 3) << "an agent still reports the old ones";
  expire_in(kCertificateValidity);
  world.pass(minutes(10));
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 3);
}

TEST_F(JobSecurity, IsWrittenAgainForAPodThatANewOperatorCreates) {
  start();
  world.restart_operator();
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 1) << "no pod needs it";
  world.pass(hours(1));
  world.add_node("c", 1);
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), SizeIs(3));
  EXPECT_EQ(writes_of_credentials(), 2) << "somebody may have deleted it";
}

TEST_F(JobSecurity, ThatIsRefusedIsReportedWithARemedyUntilItIsAllowed) {
  const Json status = {
      {"kind", "Status"},
      {"code", 403},
      {"reason", "Forbidden"},
      {"message", R"(secrets "job-credentials" is forbidden: User "x" cannot patch resource "secrets")"}};
  world.api_server.refusals["secrets"] = {403, status.dump(), std::nullopt};
  start();
  EXPECT_THAT(world.pods(), IsEmpty()) << "a pod would wait for its credentials";
  EXPECT_THAT(world.condition("PodsReady"),
              AllOf(StartsWith("False PodRefused: Secret job-credentials-"), HasSubstr("is refused"),
                    HasSubstr("Allow the operator's service account to do this")));
  world.api_server.refusals.clear();
  world.pass(minutes(2));
  world.settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(JobSecurity, IsNotWrittenForEachTryOfARefusedPod) {
  const Json status = {{"kind", "Status"}, {"code", 403}, {"reason", "Forbidden"}, {"message", "exceeded quota"}};
  world.api_server.refusals["pods"] = {403, status.dump(), std::nullopt};
  start();
  for (int i = 0; i < 5; ++i) {
    world.pass(minutes(1));
    world.settle();
  }
  EXPECT_EQ(writes_of_credentials(), 1);
}

TEST_F(JobSecurity, HasNoNetworkPolicyIfTheOperatorMakesNone) {
  world.settings.isolates_jobs = false;
  world.restart_operator();
  start();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.api_server.all("secrets"), SizeIs(1));
  EXPECT_THAT(world.api_server.all("networkpolicies"), IsEmpty());
}

TEST_F(JobSecurity, OfAJobWhoseObjectsNothingOwnsIsDeletedWithThem) {
  start();
  world.disown();
  world.delete_job();
  world.reconcile();
  EXPECT_THAT(world.api_server.all("secrets"), IsEmpty());
  EXPECT_THAT(world.api_server.all("networkpolicies"), IsEmpty());
}

TEST_F(JobSecurity, GetsANewCaWhileTheJobTrainsOnWithItsCertificate) {
  start();
  Json secret = world.api_server.all("secrets").front();
  secret["data"]["tls.crt"] = "b2xk";
  world.api_server.put("/api/v1/namespaces/default/secrets", secret);
  const Json record = world.api_server.all("jobrecords").front();
  const std::size_t sent = world.sent.size();
  world.pass(minutes(1));
  world.trusted_cas = "new and old";
  world.trust_change = {world.now, true};
  world.settle();
  EXPECT_EQ(world.api_server.all("secrets").front()["data"]["ca.crt"], net::encode_base64("new and old"));
  EXPECT_EQ(world.api_server.all("secrets").front()["data"]["tls.crt"], "b2xk") << "its peers may not trust a new one";
  world.pass(minutes(1));
  world.settle();
  EXPECT_EQ(writes_of_credentials(), 2) << "once";
  world.pass(minutes(30));
  world.trust_change->keeps_certificates = false;
  expire_in(kCertificateValidity - hours(21));
  world.settle();
  EXPECT_NE(world.api_server.all("secrets").front()["data"]["tls.crt"], "b2xk");
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.api_server.all("jobrecords").front()["spec"]["generation"], record["spec"]["generation"]);
  EXPECT_EQ(world.sent.size(), sent) << "no new assignment";
}

TEST_F(JobSecurity, GetsNewCertificatesAtOnceIfTheOldCaIsDistrusted) {
  start();
  Json secret = world.api_server.all("secrets").front();
  secret["data"]["tls.crt"] = "b2xk";
  world.api_server.put("/api/v1/namespaces/default/secrets", secret);
  world.pass(minutes(1));
  world.trust_change = {world.now, false};
  world.settle();
  EXPECT_NE(world.api_server.all("secrets").front()["data"]["tls.crt"], "b2xk");
}

TEST_F(JobSecurity, OfANewPodIsMadeAlsoIfTheSecretIsGone) {
  start();
  world.api_server.erase("/api/v1/namespaces/default/secrets", kube::name_of(world.api_server.all("secrets").front()));
  world.pass(minutes(1));
  world.trust_change = {world.now, true};
  world.settle();
  EXPECT_THAT(world.api_server.all("secrets"), SizeIs(1));
}

// The kubelet does not start a pod whose Secret is gone.
TEST_F(JobSecurity, IsWrittenAgainForAPodThatDoesNotStart) {
  world.stuck_nodes = {"a", "b"};
  start();
  const auto secrets = [&] { return world.api_server.all("secrets"); };
  world.api_server.erase("/api/v1/namespaces/default/secrets", kube::name_of(secrets().front()));
  world.pass(std::chrono::seconds(20));
  world.settle();
  EXPECT_THAT(secrets(), IsEmpty()) << "pods take a while to start";
  world.pass(std::chrono::ceil<std::chrono::seconds>(world.requeue_after.value()));
  world.settle();
  EXPECT_THAT(secrets(), SizeIs(1));
}

TEST_F(JobSecurity, ThatAnAgentDoesNotAcceptIsSaidUntilItDoes) {
  start();
  world.pass(minutes(1));
  const std::string pod = world.pod_on("b");
  AgentView& agent = world.agents[kube::uid_of(world.api_server.find("pods", pod))];
  agent.tls_fault = "the TLS handshake failed (tlsv1 alert unknown ca)";
  agent.unanswered_polls = 1;
  world.reconcile();
  EXPECT_THAT(world.condition("PodsReady"), AllOf(StartsWith("False AgentUntrusted: Pod " + pod + " runs"),
                                                  HasSubstr("alert unknown ca"), HasSubstr("delete the pod")));
  EXPECT_THAT(world.events(), Contains(HasSubstr("AgentUntrusted")));
  agent.tls_fault.clear();
  agent.unanswered_polls = 0;
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("True AllPodsAnswer"));
}

TEST_F(JobSecurity, OfTwoJobsOfOneNameAreTwo) {
  start();
  const std::string first = kube::name_of(world.api_server.all("secrets").front());
  world.delete_job();
  world.collect_objects_of_absent_jobs();
  world.add_job();
  world.settle();
  EXPECT_NE(kube::name_of(world.api_server.all("secrets").front()), first);
}

}  // namespace
}  // namespace sailor::testing
