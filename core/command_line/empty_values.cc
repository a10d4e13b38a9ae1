#include "core/command_line/empty_values.h"

namespace sailor {

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const char* remedy = option->get_required() ? "is empty; give a value" : "is empty; give a value, or omit it";
    option->check(CLI::Validator([remedy](const std::string& text) { return text.empty() ? remedy : ""; }, ""));
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_values(*command);
}

}  // namespace sailor
