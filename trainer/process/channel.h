// Channel: carries lines of JSON between an agent and one of its workers, over a pair of connected sockets.
#pragma once

#include <mutex>
#include <optional>
#include <string>

namespace sailor::trainer {

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}  // takes ownership of the socket
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Returns false if the other side is gone. Any thread may call it.
  bool send(const std::string& line);
  // Does nothing while another thread is sending.
  void send_if_free(const std::string& line);
  // Waits for a line. Returns nothing if the other side is gone. Only one thread at a time may call it.
  std::optional<std::string> receive();
  // Shows the other side that no more lines will come. Its lines can still be received.
  void close_sending();

 private:
  bool write(const std::string& line);

  int fd_;
  std::mutex sending_;
  std::string received_;  // bytes after the last whole line
};

}  // namespace sailor::trainer
