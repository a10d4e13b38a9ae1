// The artifact's bandwidths and prices of traffic.
#include <charconv>

#include <fmt/format.h>

#include "core/manifest/artifact.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

// Walks through objects nested in objects, remembering the path for errors.
class Walk {
 public:
  Walk(std::filesystem::path file, const Json& json) : file_(std::move(file)), json_(&json) {}

  template <class Visit>
  Result<void> each(Visit visit) const {
    if (!json_->is_object()) return wrong("is no JSON object; fetch the file again");
    for (const auto& [key, value] : json_->items()) {
      Walk below(file_, value);
      below.path_ = path_.empty() ? key : path_ + "." + key;
      if (Result<void> done = visit(key, below); !done) return done;
    }
    return {};
  }

  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {}: {}", file_.string(), path_.empty() ? "all of it" : path_, what));
  }

 private:
  std::filesystem::path file_;
  const Json* json_;
  std::string path_;
};

Result<int> count_of(const std::string& text, const Walk& at) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    return at.wrong("is no number of GPUs from 1 on");
  }
  return value;
}

// [[a, b, c], most]: GB/s and bytes a second.
Result<BandwidthCurve> curve_of(const Walk& at) {
  const Json& json = at.json();
  const bool has_shape = json.is_array() && json.size() == 2 && json[0].is_array() && json[0].size() == 3 &&
                         json[1].is_number() && json[0][0].is_number() && json[0][1].is_number() &&
                         json[0][2].is_number();
  if (!has_shape) return at.wrong("is not [[a, b, c], bytes a second]; measure it again or leave it out");
  const BandwidthCurve curve{json[0][0].get<double>(), json[0][1].get<double>(), json[0][2].get<double>(),
                             BytesPerSecond(json[1].get<double>())};
  constexpr double kLeast = 1e-6;  // GB/s
  constexpr double kMost = 1e6;
  const auto is_rate = [](double rate) { return rate >= kLeast && rate <= kMost; };
  if (!is_rate(curve.constant) || !is_rate(curve.peak.value() / 1e9)) {
    return at.wrong(
        fmt::format("has no rate from {} to {} GB/s for a megabyte, and as its most; measure it again or "
                    "leave it out",
                    kLeast, kMost));
  }
  return curve;
}

Result<MeasuredEndpoint> end_of(const std::string& zone, const std::string& gpu, const std::string& count,
                                const Walk& at) {
  const auto accelerator = artifact_accelerator(gpu);
  if (!accelerator) return at.wrong(accelerator.error().message);
  const auto gpus = count_of(count, at);
  if (!gpus) return tl::unexpected(gpus.error());
  return MeasuredEndpoint{Zone(zone), *accelerator, *gpus};
}

Result<void> read_targets(const Walk& sender, const MeasuredEndpoint& from, std::vector<MeasuredLink>& links) {
  return sender.each([&](const std::string& zone, const Walk& in_zone) {
    return in_zone.each([&](const std::string& gpu, const Walk& of_gpu) {
      return of_gpu.each([&](const std::string& count, const Walk& at) -> Result<void> {
        const auto to = end_of(zone, gpu, count, at);
        if (!to) return tl::unexpected(to.error());
        const auto curve = curve_of(at);
        if (!curve) return tl::unexpected(curve.error());
        links.push_back({from, *to, *curve});
        return {};
      });
    });
  });
}

Result<void> read_links(const Walk& file, std::vector<MeasuredLink>& links) {
  return file.each([&](const std::string& zone, const Walk& in_zone) {
    return in_zone.each([&](const std::string& gpu, const Walk& of_gpu) {
      return of_gpu.each([&](const std::string& count, const Walk& sender) -> Result<void> {
        const auto from = end_of(zone, gpu, count, sender);
        if (!from) return tl::unexpected(from.error());
        return read_targets(sender, *from, links);
      });
    });
  });
}

Result<void> read_nodes(const Walk& file, std::vector<MeasuredNode>& nodes) {
  return file.each([&](const std::string& gpu, const Walk& of_gpu) {
    return of_gpu.each([&](const std::string& count, const Walk& at) -> Result<void> {
      const auto end = end_of("", gpu, count, at);
      if (!end) return tl::unexpected(end.error());
      const auto curve = curve_of(at);
      if (!curve) return tl::unexpected(curve.error());
      nodes.push_back({end->accelerator, end->gpus, *curve});
      return {};
    });
  });
}

Result<void> read_prices(const Walk& file, std::vector<MeasuredPrice>& prices) {
  constexpr double kMostDollars = 1e6;
  return file.each([&](const std::string& from, const Walk& of_zone) {
    return of_zone.each([&](const std::string& to, const Walk& at) -> Result<void> {
      if (!at.json().is_number() || at.json().get<double>() < 0 || at.json().get<double>() > kMostDollars) {
        return at.wrong(fmt::format("{} is no price from $0 to ${} a GB; correct it", at.json().dump(), kMostDollars));
      }
      prices.push_back({Zone(from), Zone(to), dollars_per_gigabyte(at.json().get<double>())});
      return {};
    });
  });
}

template <class T>
Result<void> read_if_there(const std::filesystem::path& file, Result<void> (*read)(const Walk&, std::vector<T>&),
                           std::vector<T>& into) {
  if (!std::filesystem::exists(file)) return {};
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  return read(Walk(file, *json), into);
}

}  // namespace

Result<NetworkMeasurements> read_artifact_network(const std::filesystem::path& folder) {
  NetworkMeasurements network;
  for (const Result<void>& done : {read_if_there(folder / "inter_node_bandwidths.json", read_links, network.links),
                                   read_if_there(folder / "intra_node_bandwidths.json", read_nodes, network.nodes),
                                   read_if_there(folder / "egress_cost.json", read_prices, network.prices)}) {
    if (!done) return tl::unexpected(done.error());
  }
  return network;
}

}  // namespace sailor
