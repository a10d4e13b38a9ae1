#include "trainer/weights/import_export.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/job_json.h"
#include "trainer/checkpoint/assemble.h"
#include "trainer/weights/hugging_face_config.h"
#include "trainer/weights/hugging_face_model.h"

namespace sailor::trainer {
namespace {

bool is_letter_or_digit(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

// A model name consists of lower-case letters, digits, dashes and dots. It begins and ends with a letter or digit.
std::string as_model_name(std::string name) {
  constexpr std::size_t kLongest = 63;
  for (char& letter : name) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    if (!is_letter_or_digit(letter) && letter != '.') letter = '-';
  }
  name.erase(name.begin(), std::ranges::find_if(name, is_letter_or_digit));
  name.resize(std::min(name.size(), kLongest));
  while (!name.empty() && !is_letter_or_digit(name.back())) name.pop_back();
  return name.empty() ? "model" : name;
}

Result<std::int64_t> step_to_export(const ExportOptions& options) {
  const auto steps = complete_checkpoints(options.checkpoints);
  if (!steps.empty() && !options.step) return steps.front();
  if (options.step && std::ranges::find(steps, *options.step) != steps.end()) return *options.step;
  const std::string what = options.step ? fmt::format("checkpoint of step {}", *options.step) : "complete checkpoint";
  return fail(ErrorCode::kNotFound,
              fmt::format("{} has no {}; name a job's own folder, checkpoint.path/namespace/job/uid",
                          options.checkpoints.string(), what));
}

}  // namespace

Result<std::string> import_model(const std::filesystem::path& folder) {
  auto spec = read_hugging_face_config(folder);
  if (!spec) return tl::unexpected(spec.error());
  spec->name = as_model_name(spec->name);
  const auto files = HuggingFaceModel::open(folder, *spec);
  if (!files) return tl::unexpected(files.error());
  const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
  return fmt::format("spec:\n  model: {}\n  training: {{initialWeights: {}}}\n", to_json(*spec).dump(),
                     nlohmann::json(path).dump());  // JSON is YAML too
}

Result<std::int64_t> export_model(const ExportOptions& options) {
  auto step = step_to_export(options);
  if (!step) return step;
  const auto folder = step_folder(options.checkpoints, *step);
  const auto manifest = read_manifest(folder);
  if (!manifest) return tl::unexpected(manifest.error());
  const auto weights = [&](int layer_state) -> Result<std::vector<float>> {
    auto saved = assemble(folder, *manifest, layout_of(manifest->model, layer_state));
    if (!saved) return tl::unexpected(saved.error());
    return std::move(saved->weights);
  };
  if (auto written = write_hugging_face_model(options.into, manifest->model, weights, manifest->sequence_length);
      !written) {
    return tl::unexpected(written.error());
  }
  return *step;
}

}  // namespace sailor::trainer
