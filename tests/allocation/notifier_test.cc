// SPDX-License-Identifier: Apache-2.0
// Notifications may allocate when they are sent; their metrics, written each second, may not.
#include "daemon/alerts/notifier.h"

#include "tests/bench/count_malloc.h"
#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using AlertAllocation = ProgramRunning;

TEST_F(AlertAllocation, NoneForWhatIsShownEachRound) {
  AlertsSettings settings;
  settings.program = script("exit 1");
  Notifier hook(clock, spawner, log);
  ASSERT_TRUE(hook.start(loop));
  hook.apply(settings);
  AlertNotification notification;
  notification.alert = "JetmemBuddyFragmented, with a name longer than short strings are";
  notification.severity = "critical";
  for (std::size_t i = 0; i < Notifier::kPerWindow + 3; ++i) {
    notification.labels = {{"n", std::to_string(i)}};
    hook.notify(notification);
  }
  const auto write = [&] {
    SampleWriter out(table, section, clock.boot());
    hook.write(out);
  };
  ASSERT_TRUE(run_until([&] {
    write();
    return table.value_of("jetmem_notifications_total{result=\"failed\"}") == Notifier::kPerWindow;
  }));
  write();
  const auto before = allocations_of_this_thread();
  for (int i = 0; i < 100; ++i) write();
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
  EXPECT_EQ(table.value_of("jetmem_notification_queue_length"), 3);
}

}  // namespace
}  // namespace jetmem
