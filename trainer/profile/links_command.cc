#include "trainer/profile/links_command.h"

#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"
#include "trainer/device/device.h"
#include "trainer/profile/local_group.h"
#include "trainer/profile/manifests.h"
#include "trainer/profile/measure_link.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kLinkTimeout{60};

Link link_within_this_machine(const LinksOptions& options) {
  Link link;
  run_local_group({.port = options.port, .size = 2}, [&](int rank, Group& group) {
    const Link measured = measure_link(group, rank);
    if (rank == 0) link = measured;
  });
  return link;
}

Link link_to_other_machine(const LinksOptions& options) {
  std::unique_ptr<RendezvousServer> store;
  if (options.rank == 0) {
    auto listening = RendezvousServer::listen(options.store, options.port);
    if (!listening) throw CommunicationError(listening.error().message);
    store = *std::move(listening);
  }
  Rendezvous rendezvous(options.store, options.port, "links", kLinkTimeout);
  GroupFactory factory(rendezvous, options.host, options.rank, kLinkTimeout);
  return measure_link(*factory.make_collective_group("links", {0, 1}), options.rank);
}

}  // namespace

Result<std::string> measure_links(const LinksOptions& options) try {
  set_cpu_threads(1);
  const Link link = options.host.empty() ? link_within_this_machine(options) : link_to_other_machine(options);
  if (options.rank == 1) return "";
  const bool has_zones = options.zones.size() == 2;
  return network_manifest(link, has_zones ? options.zones[0] : "", has_zones ? options.zones[1] : "");
} catch (const CommunicationError& error) {
  return fail(ErrorCode::kUnavailable, error.what());
}

}  // namespace sailor::trainer
