// SPDX-License-Identifier: Apache-2.0
// An event loop, and programs in it, for tests of what runs them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/spawn.h"
#include "daemon/children/program.h"
#include "daemon/event/sd_event_loop.h"
#include "metrics/sample.h"
#include "tests/named_process.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem {

// The real clock, and by how much a test puts the boot clock forward.
class ClockAhead final : public Clock {
 public:
  Nanoseconds boot() const override { return clock_.boot() + ahead; }
  Nanoseconds mono() const override { return clock_.mono(); }
  Nanoseconds wall() const override { return clock_.wall(); }
  Nanoseconds ahead{0};

 private:
  SystemClock clock_;
};

class ProgramRunning : public testing::Test {
 protected:
  // A shell script.
  std::string script(const std::string& body) {
    std::string path = directory + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  // What a program wrote there.
  std::string read(const std::string& name) const {
    std::ifstream in(directory + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Runs the loop until the condition holds; false when it does not within the time.
  bool run_until(const std::function<bool()>& condition, int milliseconds = 5000) {
    const Nanoseconds end = clock.mono() + std::chrono::milliseconds(milliseconds);
    while (!condition()) {
      if (clock.mono() >= end) return false;
      sd_event_run(loop.event(), 10'000);
      ++turns;
    }
    return true;
  }
  void run_for(int milliseconds) {
    run_until([] { return false; }, milliseconds);
  }
  // Of what this part of the daemon writes.
  template <class Part>
  double value_of(Part& part, const std::string& key) {
    SampleWriter out(table, section, clock.boot());
    part.write(out);
    out.finish();
    return table.value_of(key);
  }
  SdEventLoop loop;
  TempDir temporary;
  std::string directory = temporary.path();
  ClockAhead clock;
  SystemSpawner spawner;
  RecordedLog log;
  SampleTable table;
  std::size_t section = table.add_section("self");
  int turns = 0;
};

// A program whose output is a source's text: what it answers, counts and is served with.
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
  // It is due, and has answered so often since it was made.
  bool due_and_answered(int count) {
    program->due();
    return answered(count);
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
