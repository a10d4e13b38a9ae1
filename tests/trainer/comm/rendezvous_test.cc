// Tests how workers reach the rendezvous store, and which keys it keeps after older generations are deleted.
#include "trainer/comm/rendezvous.h"

#include <array>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::HasSubstr;

constexpr int kPort = 7074;
constexpr std::chrono::seconds kLongest{30};  // far longer than the answer takes on a busy machine
// How long an absent key is waited for. The result does not depend on it: the number of keys shows that they are gone.
constexpr std::chrono::milliseconds kBriefly{50};

// A name server may be absent or slow.
TEST(Rendezvous, AsksNoNameServer) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ASSERT_EQ(inet_pton(AF_INET, "127.0.0.1", &address.sin_addr), 1);
  std::array<char, NI_MAXHOST> host{};
  ASSERT_EQ(
      getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host.data(), host.size(), nullptr, 0, 0),
      0);
  EXPECT_STREQ(host.data(), "127.0.0.1") << "this address has a name on every machine";
}

TEST(RendezvousServer, ThatCannotListenSaysWhatToDoAboutTheAddressOrThePort) {
  const auto error_of = [](const std::string& host) {
    const auto server = RendezvousServer::listen(host, kPort);
    return server ? std::string() : server.error().message;
  };
  EXPECT_THAT(error_of("no-such-host.invalid"), HasSubstr("; set --host to an IP address of this machine"));
  EXPECT_THAT(error_of("192.0.2.1"), HasSubstr("; set --host to an IP address of this machine"));
  const std::string host = testing::own_address();
  const auto store = RendezvousServer::listen(host, kPort);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_THAT(error_of(host), HasSubstr("; free the port or choose another"));
}

TEST(Rendezvous, WaitsForSeveralKeysAtOnce) {
  const std::string host = testing::own_address();
  const auto store = RendezvousServer::listen(host, kPort);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  Rendezvous rendezvous(host, kPort, "several", kLongest);
  rendezvous.set("a", "first");
  EXPECT_FALSE(rendezvous.wait_for_all({"a", "b"}, kBriefly));
  EXPECT_TRUE(rendezvous.is_set("a"));
  EXPECT_FALSE(rendezvous.is_set("b"));
  rendezvous.set("b", "second");
  EXPECT_EQ(rendezvous.wait_for_all({"a", "b"}, kLongest), (std::vector<std::string>{"first", "second"}));
}

// The store does not acknowledge a write. The key is known to be stored once the same connection has read it.
void set(Rendezvous&& rendezvous, const std::string& key) {
  rendezvous.set(key, "yes");
  EXPECT_EQ(rendezvous.wait(key, kLongest), "yes");
}

TEST(RendezvousServer, DeletesOlderGenerationsOfTheJobAndNothingElse) {
  const std::string host = testing::own_address();
  const auto store = RendezvousServer::listen(host, kPort);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto meets = [&](const std::string& uid, std::int64_t generation) {
    return Rendezvous(host, kPort, rendezvous_prefix(uid, generation), kLongest);
  };
  const std::size_t at_first = (*store)->delete_generations_before("job", 0).value();
  for (const std::int64_t generation : {1, 9, 10, 11}) {
    for (const char* key : {"here/0", "control/peer/1"}) set(meets("job", generation), key);
  }
  set(meets("other-job", 1), "here/0");

  EXPECT_EQ((*store)->delete_generations_before("job", 10).value(), at_first + 5);
  for (const std::int64_t generation : {1, 9}) {
    EXPECT_FALSE(meets("job", generation).wait("here/0", kBriefly)) << generation;
    EXPECT_FALSE(meets("job", generation).wait("control/peer/1", kBriefly)) << generation;
  }
  for (const std::int64_t generation : {10, 11}) {
    EXPECT_EQ(meets("job", generation).wait("here/0", kLongest), "yes") << generation;
    EXPECT_EQ(meets("job", generation).wait("control/peer/1", kLongest), "yes") << generation;
  }
  EXPECT_EQ(meets("other-job", 1).wait("here/0", kLongest), "yes");
  EXPECT_EQ((*store)->delete_generations_before("job", 12).value(), at_first + 1);
}

}  // namespace
}  // namespace sailor::trainer
