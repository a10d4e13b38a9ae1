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

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

// Connects to the store at the end with rank 0, which may start later.
std::unique_ptr<Rendezvous> connect_to_store(const LinksOptions& options) {
  const std::string& store = options.rank == 0 ? options.host : options.store;
  try {
    return std::make_unique<Rendezvous>(store, options.port, "links", options.patience);
  } catch (const CommunicationError& error) {
    throw CommunicationError(
        fmt::format("the end with --rank 0 did not answer at {}:{} within {} s; start it with this --port, or find out "
                    "why its pod does not run (kubectl describe pod): {}",
                    store, options.port, seconds(options.patience), error.what()));
  }
}

// Returns when both ends are there.
void wait_for_other_end(Rendezvous& rendezvous, const LinksOptions& options) {
  if (options.rank == 1) return rendezvous.set("rank-1", "here");
  if (rendezvous.wait("rank-1", options.patience)) return;
  throw CommunicationError(fmt::format(
      "no end with --rank 1 came to {}:{} within {} s; start it with a --store that leads here, or find out "
      "why its pod does not run (kubectl describe pod)",
      options.host, options.port, seconds(options.patience)));
}

Measured link_to_other_end(const LinksOptions& options) {
  std::unique_ptr<RendezvousServer> store;
  if (options.rank == 0) {
    auto listening = RendezvousServer::listen(options.host, options.port);
    if (!listening) throw CommunicationError(listening.error().message);
    store = *std::move(listening);
  }
  const auto rendezvous = connect_to_store(options);
  wait_for_other_end(*rendezvous, options);
  GroupFactory factory(*rendezvous, options.host, options.rank, kLinkTimeout);
  const auto messages = factory.make_message_group("links-messages", 2);
  const auto sums = factory.make_collective_group("links-sums", {0, 1});
  return measured({*messages, *sums}, options.rank);
}

Result<void> check(const LinksOptions& options) {
  const auto refuse = [](std::string_view why) { return fail(ErrorCode::kInvalidArgument, std::string(why)); };
  if (options.rank == 1 && (options.host.empty() || options.store.empty())) {
    return refuse("the end with --rank 1 needs its own address (--host) and one of the end with --rank 0 (--store)");
  }
  if (options.rank == 0 && !options.store.empty()) {
    return refuse("--store is for the end with --rank 1 only; the end with --rank 0 has the store at its --host");
  }
  if (options.host.empty() && !options.zones.empty()) {
    return refuse("--zones is for two machines; start one end on each, with --host");
  }
  if (options.host.empty() && !compute_device().is_cpu()) {
    return refuse(
        "both ends would share a GPU; start one end for each GPU, with --host, --store and --rank, or measure the CPU "
        "with --device cpu");
  }
  return {};
}

}  // namespace

Result<std::string> measure_links(const LinksOptions& options) try {
  set_cpu_threads(1);
  if (const auto usable = use_device(options.device, 0); !usable) return tl::unexpected(usable.error());
  if (const auto checked = check(options); !checked) return tl::unexpected(checked.error());
  const auto [link, execution] = options.host.empty() ? link_within_this_machine(options) : link_to_other_end(options);
  if (options.rank == 1) return "";
  const bool has_zones = options.zones.size() == 2;
  return network_manifest(link, has_zones ? options.zones[0] : "", has_zones ? options.zones[1] : "", execution);
} catch (const CommunicationError& error) {
  return fail(ErrorCode::kUnavailable, error.what());
}

}  // namespace sailor::trainer
