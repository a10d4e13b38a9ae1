#include "trainer/checkpoint/durable_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace sailor::trainer {
namespace {

tl::unexpected<Error> cannot_write(const std::filesystem::path& file, int error) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("writing {}: {}; what it would save is in memory only; check the volume at checkpoint.path",
                          file.string(), std::strerror(error)));
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool flush_folder(const std::filesystem::path& folder) {  // makes the rename itself durable
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_flushed = ::fsync(fd) == 0;
  ::close(fd);
  return is_flushed;
}

}  // namespace

Result<void> write_durably(const std::filesystem::path& file, const std::vector<std::span<const std::byte>>& parts) {
  std::error_code made;
  std::filesystem::create_directories(file.parent_path(), made);
  if (made) return cannot_write(file, made.value());
  const std::filesystem::path partial = file.string() + ".part";
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return cannot_write(file, errno);
  bool is_written = true;
  for (const auto& part : parts) is_written = is_written && write_all(fd, part);
  is_written = is_written && ::fsync(fd) == 0;
  int error = errno;
  if (::close(fd) != 0 && is_written) {
    is_written = false;
    error = errno;
  }
  if (is_written && ::rename(partial.c_str(), file.c_str()) == 0 && flush_folder(file.parent_path())) return {};
  if (is_written) error = errno;
  ::unlink(partial.c_str());  // frees the space if the disk is full
  return cannot_write(file, error);
}

}  // namespace sailor::trainer
