#include "cli/manual.h"

#include <fmt/format.h>

namespace sailor::cli {
namespace {

// Escapes what roff would read as a request, a hyphen or a quotation mark. A new line of the text is a new paragraph.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '\n':
        escaped += "\n.PP\n";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", roff(text)); }

std::string option_entry(const OptionHelp& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  const std::string value = option.value.empty() ? "" : italic(option.value);
  return fmt::format(".TP\n{}{}{}\n{}{}\n", names, names.empty() || value.empty() ? "" : " ", value,
                     roff(option.description), option.is_required ? " (required)" : "");
}

std::string command_section(const CommandHelp& command) {
  std::string text = fmt::format(".SS {}\n{}.\n", roff(command.name), roff(command.description));
  for (const OptionHelp& option : command.options) text += option_entry(option);
  return text;
}

}  // namespace

std::string manual_page(const CommandHelp& program, std::string_view version) {
  std::string text = fmt::format(
      ".TH SAILOR 1 \"\" \"sailor {}\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nsailor \\- plan training jobs over GPU "
      "pools\n"
      ".SH SYNOPSIS\n{} {} [{}...]\n.br\n{} {} [{}...]\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      version, bold("sailor"), italic("COMMAND"), italic("OPTION"), bold("kubectl sailor"), italic("COMMAND"),
      italic("OPTION"), roff(program.description));
  for (const OptionHelp& option : program.options) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandHelp& command : program.commands) text += command_section(command);
  return text + ".SH SEE ALSO\n.BR kubectl (1)\n";
}

}  // namespace sailor::cli
