// The operator's CA: made once, shared by all replicas, and what it signs.
#include "operator/agents/credential_issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/base64.h"
#include "core/net/http_client.h"
#include "core/net/http_server.h"
#include "core/protocol/credentials.h"
#include "tests/core/net/tcp_peer.h"
#include "tests/operator/fake_api.h"

namespace sailor {
namespace {

using kube::HttpResponse;
using kube::Json;
using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;

constexpr const char* kSecrets = "/api/v1/namespaces/sailor-system/secrets";
const JobKey kName{"sailor-system", "sailor-ca"};
const JobKey kLlama{"team", "llama"};

class CredentialIssuerTest : public ::testing::Test {
 protected:
  Result<net::Identity> find() {
    const auto found = find_authorities(api, kName, nullptr, now);
    if (!found) return fail(ErrorCode::kUnavailable, found.error().message);
    return found->current.identity();
  }
  CredentialIssuer start() {
    return CredentialIssuer(find_authorities(api, kName, nullptr, now).value(), [this] { return now; });
  }
  // Looks at the Secrets again, as the operator does all the time.
  bool look(CredentialIssuer& issuer) {
    const Authorities known = issuer.authorities();
    return issuer.replace(find_authorities(api, kName, &known, now).value());
  }
  void replace_ca() { server.erase(kSecrets, kName.name); }

  testing::FakeApi server;
  kube::Api api{server, {.sleep = [](std::chrono::milliseconds) {}}};
  Time now = std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
};

// Returns whether a program with the credentials of `client` gets an answer of one with those of `server`, which has
// to be `uri`.
bool reaches(net::TlsSettings client, const net::TlsSettings& server, const std::string& uri) {
  const auto credentials = std::make_shared<const net::TlsSettings>(server);
  const auto answer = [](const net::HttpCall&) { return net::HttpAnswer{.status = 200}; };
  const int port = net::testing::free_port();
  const auto listening = net::HttpServer::listen(net::address_of("127.0.0.1", port), {{"GET", "/", answer}},
                                                 {.tls = [credentials] { return credentials; }});
  client.server_uri = uri;
  return listening && net::HttpClient(net::https_url("127.0.0.1", port), {.tls = client}).send({.target = "/"});
}

// Returns whether operator and agent accept each other, whichever of them asks.
bool talk(const CredentialIssuer& issuer, const net::TlsSettings& agent) {
  return reaches(*issuer.own(), agent, job_uri(kLlama)) && reaches(agent, *issuer.own(), operator_uri());
}

TEST_F(CredentialIssuerTest, MakesTheCaOnceAndFindsItAgain) {
  const auto made = find();
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(server.all("secrets").size(), 2U) << "the CA, and the operator's own certificate";
  EXPECT_EQ(find().value(), *made);
  EXPECT_EQ(server.writes, 2);
}

TEST_F(CredentialIssuerTest, UsesTheCaOfTheReplicaThatWasFaster) {
  const auto made = find();
  ASSERT_TRUE(made);
  const HttpResponse none{404, R"({"kind": "Status", "reason": "NotFound"})", std::nullopt};
  server.erase(kSecrets, identity_secret(kName).name);
  server.next_answers = {none, none};  // it was not there yet
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, *made);
}

TEST_F(CredentialIssuerTest, NamesASecretThatHoldsNoCaAndWhatToDo) {
  server.put(kSecrets, {{"metadata", {{"name", kName.name}, {"namespace", kName.namespace_name}}},
                        {"data", {{"tls.crt", "bm9uc2Vuc2U="}, {"tls.key", "bm9uc2Vuc2U="}}}});
  const auto found = find();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("reading the CA in Secret sailor-system/sailor-ca"));
  EXPECT_THAT(found.error().message, HasSubstr("restore the Secret, or delete it: the operator then makes a new CA"));
  EXPECT_EQ(server.writes, 0) << "a CA that cannot be read is not replaced";
}

TEST_F(CredentialIssuerTest, GivesEachJobAnIdentityOfItsOwnForAMonth) {
  const CredentialIssuer issuer = start();
  const net::TlsSettings job = issuer.issue(kLlama);
  EXPECT_EQ(net::uri_of(job.certificate), "spiffe://sailor.dev/namespaces/team/jobs/llama");
  EXPECT_EQ(net::expiry_of(job.certificate).value(),
            std::chrono::floor<std::chrono::seconds>(now) + kCertificateValidity);
  EXPECT_NE(job.key, issuer.issue(kLlama).key);
}

TEST_F(CredentialIssuerTest, ReplacesTheOperatorsOwnCertificateWithinADay) {
  CredentialIssuer issuer = start();
  const auto first = issuer.own();
  EXPECT_EQ(net::uri_of(first->certificate), "spiffe://sailor.dev/operator");
  now += hours(19);
  EXPECT_FALSE(look(issuer));
  EXPECT_EQ(issuer.own(), first);
  EXPECT_EQ(start().own()->certificate, first->certificate) << "an operator that starts has the same one";
  now += hours(2);
  EXPECT_FALSE(look(issuer)) << "the same CA is trusted";
  EXPECT_NE(issuer.own()->certificate, first->certificate);
}

TEST_F(CredentialIssuerTest, AClockThatWasSetBackMakesANewCertificate) {
  CredentialIssuer issuer = start();
  const auto first = issuer.own();
  now -= hours(48);
  look(issuer);
  EXPECT_NE(issuer.own()->certificate, first->certificate) << "the first one is not valid yet";
}

TEST_F(CredentialIssuerTest, AgentsOfAReplacedCaGoOnWhileBothAreTrusted) {
  CredentialIssuer issuer = start();
  const net::TlsSettings old = issuer.issue(kLlama);
  ASSERT_TRUE(talk(issuer, old));
  now += minutes(1);
  replace_ca();
  ASSERT_TRUE(look(issuer));
  EXPECT_TRUE(talk(issuer, old)) << "it has not read the new CA";
  EXPECT_TRUE(issuer.trust_change().value().keeps_certificates);
  net::TlsSettings agent = old;
  agent.ca = issuer.issue(kLlama).ca;
  EXPECT_TRUE(talk(issuer, agent)) << "it trusts both";
  EXPECT_TRUE(reaches(old, agent, job_uri(kLlama)) && reaches(agent, old, job_uri(kLlama))) << "agents of one job";
  now += kTrustOverlap;
  EXPECT_FALSE(look(issuer));
  EXPECT_TRUE(talk(issuer, agent)) << "the operator has a certificate of the new CA";
  EXPECT_TRUE(talk(issuer, issuer.issue(kLlama))) << "and so has the agent";
  EXPECT_FALSE(issuer.trust_change().value().keeps_certificates);
  now += kCertificateValidity;
  EXPECT_TRUE(look(issuer));
  EXPECT_EQ(issuer.issue(kLlama).ca, find().value().certificate) << "the old CA is trusted no longer";
}

TEST_F(CredentialIssuerTest, AnOperatorThatStartsWithoutTheOldCaStillTrustsIt) {
  const net::TlsSettings old = start().issue(kLlama);
  replace_ca();
  now += minutes(1);
  const CredentialIssuer issuer = start();
  EXPECT_TRUE(talk(issuer, old));
  EXPECT_TRUE(issuer.trust_change().value().keeps_certificates);
  EXPECT_EQ(start().trust_change().value().at, issuer.trust_change().value().at) << "the time survives a restart, too";
}

TEST_F(CredentialIssuerTest, ACaThatItsSecretDistrustsIsDroppedAtOnce) {
  CredentialIssuer issuer = start();
  const net::TlsSettings old = issuer.issue(kLlama);
  now += minutes(1);
  replace_ca();
  ASSERT_TRUE(look(issuer));
  Json secret = server.find("secrets", kName.name);
  secret["metadata"]["annotations"][kDistrustAnnotation] = "true";
  server.put(kSecrets, secret);
  now += minutes(1);
  EXPECT_TRUE(look(issuer));
  EXPECT_FALSE(issuer.trust_change().value().keeps_certificates) << "jobs get certificates of the new CA";
  EXPECT_FALSE(reaches(*issuer.own(), old, job_uri(kLlama)));
  EXPECT_FALSE(reaches(old, *issuer.own(), operator_uri()));
  EXPECT_TRUE(talk(issuer, issuer.issue(kLlama)));
  EXPECT_FALSE(look(issuer)) << "and that is all";
}

TEST_F(CredentialIssuerTest, KnowsWhatItTrustsIfBothSecretsAreDeleted) {
  CredentialIssuer issuer = start();
  const net::TlsSettings old = issuer.issue(kLlama);
  now += minutes(1);
  replace_ca();
  server.erase(kSecrets, identity_secret(kName).name);
  ASSERT_TRUE(look(issuer));
  EXPECT_TRUE(talk(issuer, old));
}

}  // namespace
}  // namespace sailor
