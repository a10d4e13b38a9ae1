// Reads the artifact's clusters (traces of available GPUs, sizes of nodes) and its jobs.

#include <fstream>

#include <fmt/format.h>

#include "core/manifest/artifact.h"
#include "core/manifest/file_text.h"
#include "core/model/json_reader.h"
#include "core/model/parse_number.h"

namespace sailor {
namespace {

constexpr int kMaxGpus = 1'000'000;
constexpr std::size_t kFirstPool = 2;  // the columns before it are the number and the time of the line

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells{""};
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

Result<std::vector<ArtifactPool>> pools_of_header(const std::vector<std::string>& columns) {
  if (columns.size() <= kFirstPool) {
    return fail(ErrorCode::kInvalidArgument, "line 1: has no column of a GPU type and zone; download the file again");
  }
  std::vector<ArtifactPool> pools;
  for (std::size_t i = kFirstPool; i < columns.size(); ++i) {
    auto pool = artifact_pool(columns[i]);
    if (!pool) return tl::unexpected(std::move(pool.error()).within("line 1"));
    pools.push_back(*std::move(pool));
  }
  return pools;
}

Result<std::vector<ArtifactPool>> pools_of_line(std::vector<ArtifactPool> pools, const std::vector<std::string>& cells,
                                                std::size_t line) {
  if (cells.size() != pools.size() + kFirstPool) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: has {} cells where the first line has {}", line,
                                                         cells.size(), pools.size() + kFirstPool));
  }
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const auto gpus = parse_number<int>(cells[i + kFirstPool]);
    if (!gpus || *gpus < 0 || *gpus > kMaxGpus) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("line {}: \"{}\" is not a number of GPUs", line, cells[i + kFirstPool]));
    }
    pools[i].gpus = *gpus;
  }
  return pools;
}

}  // namespace

Result<ArtifactPool> artifact_pool(std::string_view column) {
  const auto underscore = column.find('_');
  if (underscore == std::string_view::npos || underscore + 1 == column.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is not GPU_ZONE, as in A100-40_us-central1-a", column));
  }
  return artifact_accelerator(column.substr(0, underscore)).map([&](Accelerator accelerator) {
    return ArtifactPool{Zone(std::string(column.substr(underscore + 1))), std::move(accelerator)};
  });
}

Result<std::vector<std::vector<ArtifactPool>>> read_artifact_trace(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text;
  if (!std::getline(stream, text)) {
    return tl::unexpected(error_in(file, "cannot be read; check its name and permissions"));
  }
  const auto columns = pools_of_header(cells_of(text));
  if (!columns) return tl::unexpected(error_in(file, columns.error().message));
  std::vector<std::vector<ArtifactPool>> lines;
  while (std::getline(stream, text)) {
    auto pools = pools_of_line(*columns, cells_of(text), lines.size() + 2);
    if (!pools) return tl::unexpected(error_in(file, pools.error().message));
    lines.push_back(*std::move(pools));
  }
  return lines;
}

Result<std::map<Accelerator, int>> read_artifact_nodes(const std::filesystem::path& folder) {
  const auto file = folder / "basic_cluster_config.json";
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  std::map<Accelerator, int> sizes;
  for (const auto& [name, node] : json->items()) {
    if (!node.is_object()) continue;  // the file also names a zone
    const auto accelerator = artifact_accelerator(name);
    if (!accelerator) return tl::unexpected(error_in(file, accelerator.error().message));
    JsonReader reader(node, name);
    const int gpus = reader.required<int>("gpus_per_node");
    if (!reader.error() && (gpus < 1 || gpus > kMaxGpus)) reader.record("gpus_per_node", "is not a number of GPUs");
    if (reader.error()) return tl::unexpected(error_in(file, reader.error()->message));
    sizes[*accelerator] = gpus;
  }
  return sizes;
}

Result<ArtifactJob> read_artifact_job(const std::filesystem::path& file) {
  const auto json = read_json_file(file);
  if (!json) return tl::unexpected(json.error());
  JsonReader reader(*json, "");
  ArtifactJob job{"", reader.required<int>("global_batch_size"), reader.required<int>("sequence_length")};
  const auto name = reader.required<std::string>("model");
  if (reader.error()) return tl::unexpected(error_in(file, reader.error()->message));
  const auto model = artifact_model(name);
  if (!model) return tl::unexpected(error_in(file, model.error().message));
  if (job.global_batch_size < 1 || job.sequence_length < 1) {
    return tl::unexpected(error_in(file, "global_batch_size and sequence_length must be at least 1"));
  }
  job.model = *model;
  return job;
}

}  // namespace sailor
