// SPDX-License-Identifier: Apache-2.0
// jetmem decode: explains text that a machine printed. Here is the list of formats.

#include <array>

#include "base/text/text.h"
#include "cli/commands.h"
#include "cli/decode/log_format.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

struct Format {
  std::string_view name;
  std::string_view what;
  void (*add)(const Command& decode);
};
constexpr std::array kFormats{
    Format{"kernel-log", "kernel log: dmesg, journalctl, syslog, /dev/kmsg", add_decode_kernel_log},
    Format{"tegrastats", "what NVIDIA's tegrastats prints, of any Jetson", add_decode_tegrastats},
};

std::string not_a_format(const std::string& typed) {
  std::array<std::string_view, kFormats.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kFormats[i].name;
  return "unknown format '" + printable(typed, 60) + "'" +
         did_you_mean(typed, names, "; `jetmem decode` lists them");
}

struct FormatOptions {
  std::string format;
};

int list_formats(const FormatOptions&) {
  for (const Format& format : kFormats) {
    std::string line("jetmem decode ");
    line.append(format.name).append(" [FILE]   ").append(format.what).append("\n");
    put(line);
  }
  return kExitOk;
}

}  // namespace

void add_decode_command(const Command& program) {
  const Command command = program.add("decode", "Explain the text output of a machine");
  command.footer("Without a format it lists them.");
  command.exit_status("0");
  // Only a format may stand here, and that is a command of its own.
  auto& options = command.runs(list_formats);
  command.option("FORMAT", options.format, "TEXT", "A format, as listed below").check(not_a_format);
  for (const Format& format : kFormats) format.add(command);
}

}  // namespace jetmem
