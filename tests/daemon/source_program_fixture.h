// SPDX-License-Identifier: Apache-2.0
// A program whose output is a source's text: what it answers, counts and is served with.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "daemon/children/program.h"
#include "tests/daemon/running_program.h"
#include "tests/unix_socket.h"

namespace jetmem {

class SourceProgramTest : public ProgramRunning {
 protected:
  // The source's name; the program's is "jetmem-" and that.
  explicit SourceProgramTest(std::string source) : source_(std::move(source)) {}

  ProgramContext context() {
    return {clock, spawner, log,
            [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds) {
              EXPECT_EQ(source, source_);
              ++answers;
              error = snapshot ? Error{} : snapshot.error();
              text = snapshot ? (*snapshot)->find("/jetmem/" + source_).text : "";
            }};
  }
  bool answered(int count) {
    return run_until([&] { return answers >= count; });
  }
  double figure(const std::string& key) { return value_of(*program, key); }
  // Of jetmem_program_*: "starts_total", "failures_total" with its reason.
  double program_figure(const std::string& name, const std::string& more_labels = "") {
    return figure("jetmem_program_" + name + "{program=\"jetmem-" + source_ + "\"" + more_labels +
                  "}");
  }
  double starts() { return program_figure("starts_total"); }
  double wedged() { return program_figure("wedged"); }
  double failures(const std::string& reason) {
    return program_figure("failures_total", ",reason=\"" + reason + "\"");
  }

  // systemd's socket, behind which this test stands for the program.
  UniqueFd listen() const { return unix_listener(socket_path); }
  // One connection, on which this much was sent.
  static UniqueFd accept(const UniqueFd& listener, const std::string& sent = "") {
    UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    send(connection, sent);
    return connection;
  }
  static void send(const UniqueFd& connection, const std::string& what) {
    EXPECT_EQ(::write(connection.get(), what.data(), what.size()),
              static_cast<ssize_t>(what.size()));
  }

  const std::string source_;
  std::string socket_path = directory + "/socket";
  std::unique_ptr<Program> program;
  int answers = 0;
  Error error;
  std::string text;
};

}  // namespace jetmem
