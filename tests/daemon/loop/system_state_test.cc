// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/system_state.h"

#include <gtest/gtest.h>
#include <systemd/sd-bus.h>

#include <functional>
#include <string_view>
#include <thread>

#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

milliseconds elapsed(const std::function<void()>& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

// A bus of its own for one client, on which this test is systemd; null: nobody has its name.
class Bus {
 public:
  Bus(const std::string& path, const char* state)
      : state_(state), listener_(unix_listener(path)), thread_([this] { serve(); }) {}
  ~Bus() { thread_.join(); }
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

 private:
  void serve() {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    sd_bus* bus = nullptr;
    sd_bus_new(&bus);
    sd_bus_set_fd(bus, fd, fd);
    sd_bus_set_server(bus, 1, {});
    sd_bus_add_filter(bus, nullptr, answer, this);
    int ok = sd_bus_start(bus);
    while (ok >= 0) {
      ok = sd_bus_process(bus, nullptr);
      if (ok == 0) ok = sd_bus_wait(bus, UINT64_MAX);
    }
    sd_bus_unref(bus);
  }
  static int answer(sd_bus_message* message, void* self, sd_bus_error*) {
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus", "Hello") > 0) {
      return sd_bus_reply_method_return(message, "s", ":1.1");
    }
    const char* state = static_cast<Bus*>(self)->state_;
    const char* interface = "";
    const char* property = "";
    sd_bus_message_read(message, "ss", &interface, &property);
    if (state != nullptr &&
        sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Get") > 0 &&
        sd_bus_message_get_destination(message) == std::string_view("org.freedesktop.systemd1") &&
        sd_bus_message_get_path(message) == std::string_view("/org/freedesktop/systemd1") &&
        interface == std::string_view("org.freedesktop.systemd1.Manager") &&
        property == std::string_view("SystemState")) {
      return sd_bus_reply_method_return(message, "v", "s", state);
    }
    return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_SERVICE_UNKNOWN, "no such name");
  }

  const char* state_;
  UniqueFd listener_;
  std::thread thread_;
};

TEST(SystemState, OfSystemdOnTheBus) {
  for (const auto& [logged, expected] : {std::pair("stopping", SystemState::kStopping),
                                         {"running", SystemState::kRunsOn},
                                         {"degraded", SystemState::kRunsOn},
                                         {"new word", SystemState::kUnknown},
                                         {nullptr, SystemState::kUnknown}}) {
    SCOPED_TRACE(logged == nullptr ? "nobody has the name" : logged);
    const TempDir directory;
    const Bus bus(directory.file("bus"), logged);
    SystemState state = SystemState::kUnknown;
    const auto time = elapsed([&] {
      state = query_system_state(std::chrono::seconds(5), "unix:path=" + directory.file("bus"));
    });
    EXPECT_EQ(state, expected);
    EXPECT_LT(time, milliseconds(1000)) << "an answer is not waited for longer than it takes";
    std::printf("measured: asked in %lld ms\n", static_cast<long long>(time.count()));
  }
}

TEST(SystemState, ABusThatHangsCostsThePatienceAndNoMore) {
  const TempDir directory;
  const auto time_of = [](const std::string& path) {
    return elapsed([&] {
      EXPECT_EQ(query_system_state(milliseconds(200), "unix:path=" + path), SystemState::kUnknown);
    });
  };
  EXPECT_LT(time_of(directory.file("none")), milliseconds(150)) << "there is no bus";

  // One that takes connections and says nothing, and one that does not even take them.
  const std::string path = directory.file("silent");
  const UniqueFd silent = unix_listener(path, SOCK_STREAM, 0);
  ASSERT_TRUE(silent.valid());
  for (int i = 0; i < 4; ++i) {
    const auto time = time_of(path);
    EXPECT_GE(time, i == 0 ? milliseconds(190) : milliseconds(0));
    EXPECT_LT(time, milliseconds(400));
  }
}

}  // namespace
}  // namespace jetmem
