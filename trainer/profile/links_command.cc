#include "trainer/profile/links_command.h"

#include "trainer/comm/peer_lost.h"
#include "trainer/profile/links.h"
#include "trainer/profile/local_group.h"
#include "trainer/profile/manifest.h"
#include "trainer/threads.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kPatience{60};

Link link_within_this_machine(const LinksCommand& command) {
  Link link;
  in_local_group({.port = command.port, .size = 2}, [&](int rank, Group& group) {
    const Link seen = measure_link(group, rank);
    if (rank == 0) link = seen;
  });
  return link;
}

Link link_to_other_machine(const LinksCommand& command) {
  std::unique_ptr<RendezvousHost> store;
  if (command.rank == 0) {
    auto listening = RendezvousHost::listen(command.store, command.port);
    if (!listening) throw PeerLost(listening.error().message);
    store = *std::move(listening);
  }
  Rendezvous rendezvous(command.store, command.port, "links", kPatience);
  GroupFactory factory(rendezvous, command.host, command.rank, kPatience);
  return measure_link(*factory.make("links", {0, 1}), command.rank);
}

}  // namespace

Result<std::string> measure_links(const LinksCommand& command) try {
  use_threads(1);
  const Link link = command.host.empty() ? link_within_this_machine(command) : link_to_other_machine(command);
  if (command.rank == 1) return "";
  const bool has_zones = command.zones.size() == 2;
  return link_manifest(link, has_zones ? command.zones[0] : "", has_zones ? command.zones[1] : "");
} catch (const PeerLost& error) {
  return fail(ErrorCode::kUnavailable, error.what());
}

}  // namespace sailor::trainer
