// The operator's CA: made once, shared by all replicas, and what it signs.
#include "operator/agents/credential_issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/base64.h"
#include "core/protocol/credentials.h"
#include "tests/operator/fake_api.h"

namespace sailor {
namespace {

using kube::Json;
using std::chrono::hours;
using ::testing::HasSubstr;

constexpr const char* kSecrets = "/api/v1/namespaces/sailor-system/secrets";
const JobKey kName{"sailor-system", "sailor-ca"};

class CredentialIssuerTest : public ::testing::Test {
 protected:
  Result<net::Identity> find() {
    const auto authority = find_authority(api, kName, now);
    if (!authority) return fail(ErrorCode::kUnavailable, authority.error().message);
    return authority->identity();
  }

  testing::FakeApi server;
  kube::Api api{server, {.sleep = [](std::chrono::milliseconds) {}}};
  Time now = std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
};

// The API server turns stringData into data.
Json as_stored(Json secret) {
  for (const auto& [key, text] : secret["stringData"].items())
    secret["data"][key] = net::encode_base64(text.get<std::string>());
  secret.erase("stringData");
  return secret;
}

TEST_F(CredentialIssuerTest, MakesTheCaOnceAndFindsItAgain) {
  const auto made = find();
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(server.all("secrets").size(), 1U);
  server.put(kSecrets, as_stored(server.all("secrets").front()));
  EXPECT_EQ(find().value(), *made);
  EXPECT_EQ(server.writes, 1);
}

TEST_F(CredentialIssuerTest, UsesTheCaOfTheReplicaThatWasFaster) {
  ASSERT_TRUE(find());
  const Json stored = as_stored(server.all("secrets").front());
  server.put(kSecrets, stored);
  server.next_answers = {{404, R"({"kind": "Status", "reason": "NotFound"})", std::nullopt}};  // it was not there yet
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(net::encode_base64(found->certificate), stored["data"]["tls.crt"]);
}

TEST_F(CredentialIssuerTest, NamesASecretThatHoldsNoCaAndWhatToDo) {
  server.put(kSecrets, {{"metadata", {{"name", kName.name}, {"namespace", kName.namespace_name}}},
                        {"data", {{"tls.crt", "bm9uc2Vuc2U="}, {"tls.key", "bm9uc2Vuc2U="}}}});
  const auto found = find();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("reading the CA in Secret sailor-system/sailor-ca"));
  EXPECT_THAT(found.error().message, HasSubstr("restore the Secret, or delete it and start the operator again"));
  EXPECT_EQ(server.writes, 0) << "a CA that cannot be read is not replaced";
}

TEST_F(CredentialIssuerTest, GivesEachJobAnIdentityOfItsOwnForAMonth) {
  CredentialIssuer issuer(find_authority(api, kName, now).value(), [this] { return now; });
  const net::TlsSettings job = issuer.issue({"team", "llama"});
  EXPECT_EQ(net::uri_of(job.certificate), "spiffe://sailor.dev/namespaces/team/jobs/llama");
  EXPECT_EQ(net::expiry_of(job.certificate).value(),
            std::chrono::floor<std::chrono::seconds>(now) + kCertificateValidity);
  EXPECT_NE(job.key, issuer.issue({"team", "llama"}).key);
}

TEST_F(CredentialIssuerTest, ReplacesTheOperatorsOwnCertificateWithinADay) {
  CredentialIssuer issuer(find_authority(api, kName, now).value(), [this] { return now; });
  const auto first = issuer.own();
  EXPECT_EQ(net::uri_of(first->certificate), "spiffe://sailor.dev/operator");
  now += hours(19);
  EXPECT_EQ(issuer.own(), first);
  now += hours(2);
  EXPECT_NE(issuer.own()->certificate, first->certificate);
}

TEST_F(CredentialIssuerTest, AClockThatWasSetBackMakesANewCertificate) {
  CredentialIssuer issuer(find_authority(api, kName, now).value(), [this] { return now; });
  const auto first = issuer.own();
  now -= hours(48);
  EXPECT_NE(issuer.own()->certificate, first->certificate) << "the first one is not valid yet";
}

}  // namespace
}  // namespace sailor
