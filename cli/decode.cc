// jetmem decode: explains text that a machine printed. Here is the list of formats.

#include "cli/decode.h"

#include <array>
#include <cstdio>

#include "base/text.h"

namespace jetmem {
namespace {

struct Format {
  std::string_view name;
  std::string_view what;
  void (*add)(CLI::App& decode, CommandContext& context);
};
constexpr std::array kFormats{
    Format{"kernel-log", "kernel log: dmesg, journalctl, syslog, /dev/kmsg", add_decode_kernel_log},
    Format{"tegrastats", "what NVIDIA's tegrastats prints, of any Jetson", add_decode_tegrastats},
};

std::string not_a_format(const std::string& typed) {
  std::array<std::string_view, kFormats.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kFormats[i].name;
  std::string message = "no format is called '" + printable(typed, 60) + "'";
  const std::string_view near = nearest_name(typed, names);
  if (!near.empty()) message.append("; did you mean '").append(near).append("'?");
  return message.append(near.empty() ? "; `jetmem decode` lists them" : "");
}

void list_formats() {
  for (const Format& format : kFormats) {
    std::string line("jetmem decode ");
    line.append(format.name).append(" [FILE]   ").append(format.what).append("\n");
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
}

}  // namespace

void add_decode_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("decode", "Explain text that a machine printed");
  command->footer(
      "Without a format it lists them.\n"
      "Exit status: 0; 2 on a wrong command line.");
  // Nothing but a format may stand here, and then it is a command of its own.
  command->add_option("FORMAT", "A format's name, as below")
      ->check(CLI::Validator(not_a_format, "", ""));
  command->callback([command] {
    if (command->get_subcommands().empty()) list_formats();
  });
  for (const Format& format : kFormats) format.add(*command, context);
}

}  // namespace jetmem
