#include "trainer/data/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sailor::trainer {
namespace {

tl::unexpected<Error> unreadable(const std::string& path, const char* why) {
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("reading training data {}: {}; mount the data into the trainer's pod (podTemplate) so that its "
                  "user can read it",
                  path, why));
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not wait for the writer of a pipe
  if (fd < 0) return unreadable(path, std::strerror(errno));
  struct stat status {};
  fstat(fd, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = nullptr;
  if (!S_ISREG(status.st_mode)) {
    close(fd);
    return unreadable(path, "not a regular file");
  }
  if (size > 0) data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  close(fd);
  if (data == MAP_FAILED) return unreadable(path, std::strerror(error));
  return std::unique_ptr<MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace sailor::trainer
