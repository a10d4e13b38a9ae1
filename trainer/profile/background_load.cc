#include "trainer/profile/background_load.h"

namespace sailor::trainer {

Result<BackgroundLoad> BackgroundLoad::start(const std::string& program, const std::vector<std::string>& arguments,
                                             int processes) {
  BackgroundLoad load;
  for (int i = 0; i < processes; ++i) {
    auto child = ChildProcess::start(program, arguments);
    if (!child) return tl::unexpected(child.error());
    load.processes_.push_back(*std::move(child));
  }
  for (const auto& child : load.processes_) {
    if (!child->channel().receive()) {
      return fail(ErrorCode::kInternal, "a process of the background load " + child->wait_for_end());
    }
  }
  return load;
}

void run_as_background_load(const MeasureRequest& request, int channel_descriptor) {
  die_with_parent();
  Channel channel(channel_descriptor);
  MeasureRequest pass = request;
  pass.time = {};
  (void)measure(pass);
  channel.send("computing");
  pass.time = request.time;
  while (true) (void)measure(pass);
}

}  // namespace sailor::trainer
