// An alert may allocate when it is told; what is shown of it each second may not.
#include "daemon/alert_hook.h"

#include "daemon/compaction.h"
#include "tests/bench/count_malloc.h"
#include "tests/daemon/program_running.h"

namespace jetmem {
namespace {

using AlertAllocation = ProgramRunning;

TEST_F(AlertAllocation, NoneForWhatIsShownEachRound) {
  AlertsSettings settings;
  settings.program = script("exit 1");
  settings.compact = true;
  settings.compact_socket = directory + "/nowhere";
  AlertHook hook(clock, spawner, log);
  CompactionOptions options;
  options.runtime_directory = directory;
  options.boot_id = "this-boot";
  Compaction compaction(clock, spawner, log, options);
  ASSERT_TRUE(hook.start(event));
  ASSERT_TRUE(compaction.start(event));
  hook.apply(settings);
  compaction.apply(settings);
  AlertNews news;
  news.alert = "JetmemBuddyFragmented, with a name longer than short strings are";
  news.severity = "critical";
  for (std::size_t i = 0; i < AlertHook::kPerWindow + 3; ++i) {
    news.labels = {{"n", std::to_string(i)}};
    hook.tell(news);
  }
  SampleTable table;
  const std::size_t section = table.add_section("alerts");
  const auto write = [&] {
    SampleWriter out(table, section, clock.boot());
    hook.write(out);
    compaction.write(out);
  };
  ASSERT_TRUE(run_until([&] {
    write();
    return table.value_of("jetmem_alert_hook_calls_total{result=\"failed\"}") ==
           AlertHook::kPerWindow;
  }));
  write();
  const auto before = allocations_of_this_thread();
  for (int i = 0; i < 100; ++i) write();
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
  EXPECT_EQ(table.value_of("jetmem_alert_hook_waiting"), 3);
  EXPECT_EQ(table.value_of("jetmem_compactions_total{result=\"ok\"}"), 0);
}

}  // namespace
}  // namespace jetmem
