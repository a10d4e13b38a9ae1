#include "trainer/profile/links_command.h"

#include <utility>

#include <fmt/format.h>

#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"
#include "trainer/device/device.h"
#include "trainer/profile/local_group.h"
#include "trainer/profile/manifests.h"
#include "trainer/profile/measure_link.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kLinkTimeout{60};

struct Measured {
  Link link;
  ExecutionModel execution;
};

std::string device_name() {
  const std::vector<std::string> gpus = compute_device().is_cpu() ? std::vector<std::string>{} : nvidia_models();
  return gpus.empty() ? cpu_model_name() : gpus.front();
}

Measured measured(const LinkGroups& groups, int rank) {
  const auto compute = matrix_products();
  Measured all{.link = measure_link(groups.messages, rank), .execution = {}};
  all.execution = measure_execution(groups, rank, all.link, *compute);
  all.execution.source = fmt::format("sailor-trainer links, {}, {}", device_name(), current_time());
  return all;
}

Measured link_within_this_machine(const LinksOptions& options) {
  Measured result;
  run_local_group({.port = options.port, .size = 2}, [&](int rank, Group& group) {
    Measured of_rank = measured({group, group}, rank);
    if (rank == 0) result = std::move(of_rank);
  });
  return result;
}

Measured link_to_other_machine(const LinksOptions& options) {
  std::unique_ptr<RendezvousServer> store;
  if (options.rank == 0) {
    auto listening = RendezvousServer::listen(options.store, options.port);
    if (!listening) throw CommunicationError(listening.error().message);
    store = *std::move(listening);
  }
  Rendezvous rendezvous(options.store, options.port, "links", kLinkTimeout);
  GroupFactory factory(rendezvous, options.host, options.rank, kLinkTimeout);
  const auto messages = factory.make_message_group("links-messages", 2);
  const auto sums = factory.make_collective_group("links-sums", {0, 1});
  return measured({*messages, *sums}, options.rank);
}

}  // namespace

Result<std::string> measure_links(const LinksOptions& options) try {
  set_cpu_threads(1);
  if (const auto usable = use_device(options.device, 0); !usable) return tl::unexpected(usable.error());
  if (options.host.empty() && !compute_device().is_cpu())
    return fail(
        ErrorCode::kInvalidArgument,
        "both ends would share a GPU; start one end for each GPU, with --host, --store and --rank, or measure the "
        "CPU with --device cpu");
  const auto [link, execution] =
      options.host.empty() ? link_within_this_machine(options) : link_to_other_machine(options);
  if (options.rank == 1) return "";
  const bool has_zones = options.zones.size() == 2;
  return network_manifest(link, has_zones ? options.zones[0] : "", has_zones ? options.zones[1] : "", execution);
} catch (const CommunicationError& error) {
  return fail(ErrorCode::kUnavailable, error.what());
}

}  // namespace sailor::trainer
