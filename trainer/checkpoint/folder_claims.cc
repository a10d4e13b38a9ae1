#include "trainer/checkpoint/folder_claims.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/model/parse_number.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

fs::path claim_file(const fs::path& folder, std::int64_t generation) {
  return folder / "claims" / fmt::format("{:08}", generation);
}

tl::unexpected<Error> failed(const char* what, const fs::path& file, int error) {
  return fail(ErrorCode::kUnavailable, fmt::format("{} {}: {}", what, file.string(), std::strerror(error)));
}

// Opens the file, writes the text at its beginning, and waits until it is durable. Returns an errno; 0: done.
int write_into(const fs::path& file, int flags, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
  if (fd < 0) return errno;
  const bool is_written = text.empty() || ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int error = is_written && ::fsync(fd) == 0 ? 0 : errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

Result<void> claim_folder(const fs::path& folder, std::int64_t generation) {
  const fs::path file = claim_file(folder, generation);
  std::error_code made;
  fs::create_directories(file.parent_path(), made);
  if (made) return failed("claiming the checkpoint folder with", file, made.value());
  if (const int error = write_into(file, O_CREAT, ""))
    return failed("claiming the checkpoint folder with", file, error);
  return {};
}

Result<void> supersede_claim(const fs::path& folder, std::int64_t older, std::int64_t generation) {
  const fs::path file = claim_file(folder, older);
  const int error = write_into(file, 0, fmt::format("{}\n", generation));
  if (error == 0) return {};
  if (error != ENOENT) return failed("superseding the claim", file, error);
  return fail(ErrorCode::kUnavailable,
              fmt::format("{} does not hold the claim of generation {}; checkpoint.path must be a volume that all pods "
                          "of the job share",
                          folder.string(), older));
}

Result<std::int64_t> superseded_by(const fs::path& folder, std::int64_t generation) {
  const fs::path file = claim_file(folder, generation);
  std::ifstream stream(file);
  if (!stream) return failed("reading the claim", file, errno);
  std::string line;
  std::getline(stream, line);
  if (stream.bad()) return failed("reading the claim", file, errno);
  if (line.empty()) return std::int64_t{0};
  const auto newer = parse_number<std::int64_t>(line);
  return newer ? *newer : generation + 1;  // whoever has written something there has superseded the claim
}

}  // namespace sailor::trainer
