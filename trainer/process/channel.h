// Channel: carries lines of JSON between an agent and one of its workers, over a pair of connected sockets.
#pragma once

#include <mutex>
#include <optional>
#include <string>

namespace sailor::trainer {

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}  // owns it
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool send(const std::string& line);          // false: the other side is gone; any thread may call it
  void send_if_free(const std::string& line);  // does nothing while another thread is sending
  std::optional<std::string> receive();        // waits; nothing: the other side is gone; one thread at a time
  void close_sending();                        // the other side sees the end; its lines are still received

 private:
  bool write(const std::string& line);

  int fd_;
  std::mutex sending_;
  std::string received_;  // bytes after the last whole line
};

}  // namespace sailor::trainer
