// Reads the artifact's bandwidths and prices of traffic.

#include <fmt/format.h>

#include "core/manifest/artifact.h"
#include "core/model/parse_number.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

// A value in nested JSON objects, with its path for errors.
class JsonCursor {
 public:
  JsonCursor(std::filesystem::path file, const Json& json) : file_(std::move(file)), json_(&json) {}

  template <class Visit>
  Result<void> each(Visit visit) const {
    if (!json_->is_object()) return wrong("is not a JSON object; download the file again");
    for (const auto& [key, value] : json_->items()) {
      JsonCursor below(file_, value);
      below.path_ = path_.empty() ? key : path_ + "." + key;
      if (Result<void> done = visit(key, below); !done) return done;
    }
    return {};
  }

  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {}: {}", file_.string(), path_.empty() ? "the file" : path_, what));
  }

 private:
  std::filesystem::path file_;
  const Json* json_;
  std::string path_;
};

Result<int> gpu_count_of(const std::string& text, const JsonCursor& at) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 1) return at.wrong("is not a number of GPUs of at least 1");
  return *value;
}

// Reads [[a, b, c], peak]: the coefficients of a curve in GB/s, and its peak in bytes per second.
Result<BandwidthCurve> curve_of(const JsonCursor& at) {
  const Json& json = at.json();
  const bool has_shape = json.is_array() && json.size() == 2 && json[0].is_array() && json[0].size() == 3 &&
                         json[1].is_number() && json[0][0].is_number() && json[0][1].is_number() &&
                         json[0][2].is_number();
  if (!has_shape) return at.wrong("is not [[a, b, c], bytes per second]; measure it again or remove it");
  const BandwidthCurve curve{json[0][0].get<double>(), json[0][1].get<double>(), json[0][2].get<double>(),
                             BytesPerSecond(json[1].get<double>())};
  constexpr double kMin = 1e-6;  // GB/s
  constexpr double kMax = 1e6;
  const auto is_rate = [](double rate) { return rate >= kMin && rate <= kMax; };
  if (!is_rate(curve.constant) || !is_rate(curve.peak.value() / 1e9)) {
    return at.wrong(fmt::format(
        "the rate at one megabyte and the peak must be from {} to {} GB/s; measure it again or remove it", kMin, kMax));
  }
  return curve;
}

Result<MeasuredEndpoint> endpoint_of(const std::string& zone, const std::string& gpu, const std::string& count,
                                     const JsonCursor& at) {
  const auto accelerator = artifact_accelerator(gpu);
  if (!accelerator) return at.wrong(accelerator.error().message);
  const auto gpus = gpu_count_of(count, at);
  if (!gpus) return tl::unexpected(gpus.error());
  return MeasuredEndpoint{Zone(zone), *accelerator, *gpus};
}

Result<void> read_targets(const JsonCursor& sender, const MeasuredEndpoint& from, std::vector<MeasuredLink>& links) {
  return sender.each([&](const std::string& zone, const JsonCursor& in_zone) {
    return in_zone.each([&](const std::string& gpu, const JsonCursor& of_gpu) {
      return of_gpu.each([&](const std::string& count, const JsonCursor& at) -> Result<void> {
        const auto to = endpoint_of(zone, gpu, count, at);
        if (!to) return tl::unexpected(to.error());
        const auto curve = curve_of(at);
        if (!curve) return tl::unexpected(curve.error());
        links.push_back({from, *to, *curve});
        return {};
      });
    });
  });
}

Result<void> read_links(const JsonCursor& file, std::vector<MeasuredLink>& links) {
  return file.each([&](const std::string& zone, const JsonCursor& in_zone) {
    return in_zone.each([&](const std::string& gpu, const JsonCursor& of_gpu) {
      return of_gpu.each([&](const std::string& count, const JsonCursor& sender) -> Result<void> {
        const auto from = endpoint_of(zone, gpu, count, sender);
        if (!from) return tl::unexpected(from.error());
        return read_targets(sender, *from, links);
      });
    });
  });
}

Result<void> read_nodes(const JsonCursor& file, std::vector<MeasuredNode>& nodes) {
  return file.each([&](const std::string& gpu, const JsonCursor& of_gpu) {
    return of_gpu.each([&](const std::string& count, const JsonCursor& at) -> Result<void> {
      const auto end = endpoint_of("", gpu, count, at);
      if (!end) return tl::unexpected(end.error());
      const auto curve = curve_of(at);
      if (!curve) return tl::unexpected(curve.error());
      nodes.push_back({end->accelerator, end->gpus, *curve});
      return {};
    });
  });
}

Result<void> read_prices(const JsonCursor& file, std::vector<MeasuredPrice>& prices) {
  constexpr double kMaxDollars = 1e6;
  return file.each([&](const std::string& from, const JsonCursor& of_zone) {
    return of_zone.each([&](const std::string& to, const JsonCursor& at) -> Result<void> {
      if (!at.json().is_number() || at.json().get<double>() < 0 || at.json().get<double>() > kMaxDollars) {
        return at.wrong(
            fmt::format("{} is not a price from $0 to ${} per GB; correct it", at.json().dump(), kMaxDollars));
      }
      prices.push_back({Zone(from), Zone(to), dollars_per_gigabyte(at.json().get<double>())});
      return {};
    });
  });
}

template <class T>
Result<void> read_if_exists(const std::filesystem::path& file, Result<void> (*read)(const JsonCursor&, std::vector<T>&),
                            std::vector<T>& into) {
  if (!std::filesystem::exists(file)) return {};
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  return read(JsonCursor(file, *json), into);
}

}  // namespace

Result<NetworkMeasurements> read_artifact_network(const std::filesystem::path& folder) {
  NetworkMeasurements network;
  for (const Result<void>& done : {read_if_exists(folder / "inter_node_bandwidths.json", read_links, network.links),
                                   read_if_exists(folder / "intra_node_bandwidths.json", read_nodes, network.nodes),
                                   read_if_exists(folder / "egress_cost.json", read_prices, network.prices)}) {
    if (!done) return tl::unexpected(done.error());
  }
  return network;
}

}  // namespace sailor
