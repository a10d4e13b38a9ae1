#include "trainer/process/channel.h"

#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace sailor::trainer {

Channel::~Channel() { ::close(fd_); }

bool Channel::send(const std::string& line) {
  const std::lock_guard lock(sending_);
  return write(line);
}

void Channel::send_if_free(const std::string& line) {
  if (const std::unique_lock lock(sending_, std::try_to_lock); lock) write(line);
}

bool Channel::write(const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t sent = ::send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

std::optional<std::string> Channel::receive() {
  std::array<char, 65536> buffer;
  while (true) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const ssize_t count = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void Channel::close_sending() { ::shutdown(fd_, SHUT_WR); }

}  // namespace sailor::trainer
