// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/system_state.h"

#include <gtest/gtest.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "base/spawn.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

constexpr const char* kDbusDaemon = "/usr/bin/dbus-daemon";

milliseconds elapsed(const std::function<void()>& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

// A bus of its own, on which this test is systemd.
class Bus {
 public:
  explicit Bus(const TempDir& directory)
      : address_("unix:path=" + directory.file("bus")), path_(directory.file("bus")) {
    const std::string config = directory.write(
        "bus.conf",
        "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
        " \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
        "<busconfig><listen>" +
            address_ +
            "</listen><auth>EXTERNAL</auth>\n"
            "<policy context=\"default\"><allow send_destination=\"*\"/><allow own=\"*\"/>"
            "<allow eavesdrop=\"false\"/></policy></busconfig>\n");
    SpawnRequest request;
    request.argv = {kDbusDaemon, "--nofork", "--nopidfile", "--config-file=" + config};
    SystemSpawner spawner;
    auto child = spawner.spawn(request);
    if (!child) return;
    pid_ = child->pid;
    for (int i = 0; i < 500 && !listens(); ++i) std::this_thread::sleep_for(milliseconds(10));
  }
  ~Bus() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  const std::string& address() const { return address_; }
  // Its socket is there a moment before.
  bool listens() const { return unix_client(path_).valid(); }

  // False when this could not be done.
  bool be_systemd(const char* state) {
    state_ = state;
    std::atomic<int> ready{0};
    thread_ = std::thread([this, &ready] {
      static const sd_bus_vtable kManager[] = {SD_BUS_VTABLE_START(0),
                                               SD_BUS_PROPERTY("SystemState", "s", get, 0, 0),
                                               SD_BUS_VTABLE_END};
      sd_bus* bus = nullptr;
      int ok = sd_bus_new(&bus);
      if (ok >= 0) ok = sd_bus_set_address(bus, address_.c_str());
      if (ok >= 0) ok = sd_bus_set_bus_client(bus, 1);
      if (ok >= 0) ok = sd_bus_start(bus);
      if (ok >= 0) {
        ok = sd_bus_add_object_vtable(bus, nullptr, "/org/freedesktop/systemd1",
                                      "org.freedesktop.systemd1.Manager", kManager, this);
      }
      if (ok >= 0) ok = sd_bus_request_name(bus, "org.freedesktop.systemd1", 0);
      ready = ok >= 0 ? 1 : -1;
      while (ok >= 0 && !stop_) {
        ok = sd_bus_process(bus, nullptr);
        if (ok == 0) ok = sd_bus_wait(bus, 20'000);
      }
      sd_bus_close(bus);
      sd_bus_unref(bus);
    });
    while (ready == 0) std::this_thread::sleep_for(milliseconds(5));
    return ready > 0;
  }

 private:
  static int get(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* self,
                 sd_bus_error*) {
    return sd_bus_message_append(reply, "s", static_cast<Bus*>(self)->state_);
  }

  std::string address_;
  std::string path_;
  pid_t pid_ = -1;
  const char* state_ = "";
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(SystemState, OfSystemdOnTheBus) {
  if (::access(kDbusDaemon, X_OK) != 0) GTEST_SKIP() << "SKIPPED: needs " << kDbusDaemon;
  struct Case {
    const char* logged;
    SystemState state;
  };
  for (const Case& c :
       {Case{"stopping", SystemState::kStopping}, Case{"running", SystemState::kRunsOn},
        Case{"degraded", SystemState::kRunsOn}, Case{"new word", SystemState::kUnknown}}) {
    const TempDir directory;
    Bus bus(directory);
    ASSERT_TRUE(bus.be_systemd(c.logged));
    SystemState state = SystemState::kUnknown;
    const auto time =
        elapsed([&] { state = query_system_state(std::chrono::seconds(5), bus.address()); });
    EXPECT_EQ(state, c.state) << c.logged;
    EXPECT_LT(time, milliseconds(1000)) << "an answer is not waited for longer than it takes";
    std::printf("measured: asked in %lld ms\n", static_cast<long long>(time.count()));
  }
}

TEST(SystemState, WithoutSystemdIsUnknownAtOnce) {
  if (::access(kDbusDaemon, X_OK) != 0) GTEST_SKIP() << "SKIPPED: needs " << kDbusDaemon;
  const TempDir directory;
  Bus bus(directory);
  const auto time = elapsed([&] {
    EXPECT_EQ(query_system_state(std::chrono::seconds(5), bus.address()), SystemState::kUnknown);
  });
  EXPECT_LT(time, milliseconds(1000)) << "the bus says that nobody has the name";
}

TEST(SystemState, ABusThatHangsCostsThePatienceAndNoMore) {
  const TempDir directory;
  const auto none = elapsed([&] {
    EXPECT_EQ(query_system_state(milliseconds(200), "unix:path=" + directory.file("none")),
              SystemState::kUnknown);
  });
  EXPECT_LT(none, milliseconds(150)) << "there is no bus";

  // One that takes connections and says nothing, and one that does not even take them.
  const std::string path = directory.file("silent");
  const UniqueFd silent = unix_listener(path, SOCK_STREAM, 0);
  ASSERT_TRUE(silent.valid());
  for (int i = 0; i < 4; ++i) {
    const auto time = elapsed([&] {
      EXPECT_EQ(query_system_state(milliseconds(200), "unix:path=" + path), SystemState::kUnknown);
    });
    if (i == 0) {
      EXPECT_GE(time, milliseconds(190));
    }
    EXPECT_LT(time, milliseconds(400));
  }
}

}  // namespace
}  // namespace jetmem
