#include "trainer/profile/load.h"

namespace sailor::trainer {

Result<Load> Load::start(const std::string& program, const std::vector<std::string>& arguments, int processes) {
  Load load;
  for (int i = 0; i < processes; ++i) {
    auto child = ChildProcess::start(program, arguments);
    if (!child) return tl::unexpected(child.error());
    load.processes_.push_back(*std::move(child));
  }
  for (const auto& child : load.processes_) {
    if (!child->channel().receive()) {
      return fail(ErrorCode::kInternal, "a process that should load the machine " + child->wait_for_end());
    }
  }
  return load;
}

void compute_for_ever(const MeasureRequest& request, int channel_descriptor) {
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
