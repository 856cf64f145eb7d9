// SPDX-License-Identifier: Apache-2.0
// What jetmem knows, as built in: `jetmem messages check --shipped` holds each entry to its own
// examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/kernel_log/catalogue/message_notes.h"
#include "collectors/kernel_log/decode/assembler.h"
#include "config/yaml_files.h"
#include "report/messages/message_file.h"

namespace jetmem {
namespace {

using kernel_log::Catalogue;

const MessageFile& entries() {
  static const auto* const file = [] {
    auto* out = new MessageFile;
    const YamlFiles files = read_yaml_files(JETMEM_MESSAGES);
    for (const ConfigText& each : files.views()) {
      read_messages(MessageForm::kShipped, std::filesystem::path(each.name).filename().string(),
                    each.text, *out);
    }
    return out;
  }();
  return *file;
}

TEST(ShippedMessages, AreThoseThatAreBuiltIn) {
  std::set<std::string_view> ids;
  for (const kernel_log::Message& each : entries().messages) ids.insert(each.id.view());
  for (const kernel_log::Message& each : Catalogue::shipped().messages()) {
    EXPECT_EQ(ids.erase(each.id.view()), 1U)
        << each.id.view() << " is built in and not in messages/*.yaml";
  }
  for (const std::string_view id : ids) ADD_FAILURE() << id << " is not built in";
  EXPECT_EQ(kernel_log::shipped_notes().size(), Catalogue::shipped().messages().size());
}

// generate.py compiles the shipped forms, compile_form() those of a file.
TEST(ShippedMessages, AreCompiledAsAUsersAre) {
  for (const kernel_log::Message& each : entries().messages) {
    const kernel_log::Message* const built = Catalogue::shipped().find(each.id);
    ASSERT_NE(built, nullptr) << each.id.view();
    ASSERT_EQ(built->forms.size(), each.forms.size()) << each.id.view();
    for (std::size_t i = 0; i < each.forms.size(); ++i) {
      EXPECT_EQ(built->forms[i].code.view(), each.forms[i].code.view());
      EXPECT_EQ(built->forms[i].anchor(), each.forms[i].anchor());
    }
  }
}

TEST(ShippedMessages, SayWhereTheyAreFrom) {
  for (std::size_t i = 0; i < entries().messages.size(); ++i) {
    EXPECT_FALSE(entries().sources[i].empty()) << entries().messages[i].id.view();
  }
}

// Any process chooses its name, of up to 15 bytes, which the kernel prints in front of, or within,
// these lines. Of each only the name varies: {}.
constexpr std::array kLinesWithAName{
    "{}[99]: segfault at 0 ip 0000000000000000 sp 00007ffd2f8a1b20 error 14 in prog[400000+1000]",
    "{}[99]: segfault at 10 ip 0000aaaad1a01234 sp 00007ffd2f8a1b20 error 4 likely on CPU 3 (core "
    "3, socket 0)",
    "{}[99]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006, level 2 translation "
    "fault in prog[400000+1000]",
    "{}[99]: unhandled exception:",
    "{}[99]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006,",
    "{}[99]: unhandled exception: SP/PC alignment, ESR 0x000000008a000000, SP/PC alignment "
    "exception in prog[400000+1000]",
    "{}[99]: unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in "
    "prog[400000+1000]",
    "{}[99]: undefined instruction: pc=0000000000400000",
    "{}[99]: syscall 291",
    "{}[99]: unhandled signal 11 code 0x1 at 0x0000000000000000 in prog[400000+1000]",
    "{}: unhandled page fault (11) at 0x00000000, code 0x017",
    "{} (4711): undefined instruction: pc=00010448",
    "Alignment trap: {} (4711) PC=0x00010448 Instr=0xe5923000 Address=0x00000001 FSR 0x001",
    "traps: {}[99] general protection fault ip:400000 sp:7ffd2f8a1b20 error:0 in prog[400000+1000]",
    "{}[99] general protection ip:400000 sp:7ffd2f8a1b20 error:0 in prog[400000+1000]",
    "traps: {}[99] trap invalid opcode ip:400000 sp:7ffd2f8a1b20 error:0 in prog[400000+1000]",
    "{}[99] bad frame in rt_sigreturn frame:00007ffd2f8a1b20 ip:400000 sp:7ffd2f8a1b20 orax:f in "
    "prog[400000+1000]",
    "{}[99] vsyscall attempted with vsyscall=none ip:ffffffffff600400 cs:33 sp:7ffd2f8a1b20 ax:60 "
    "si:0 di:0",
    "umip: {}[99] ip:400000 sp:7ffd2f8a1b20: SGDT instruction cannot be used by applications.",
    "x86/split lock detection: #AC: {}/99 took a split_lock trap at address: 0x400000",
    "{}: potentially unexpected fatal signal 11.",
    "{} (4711): Using mlock ulimits for SHM_HUGETLB is obsolete",
    "mmap: {} (4711) uses deprecated remap_file_pages() syscall. See "
    "Documentation/mm/remap_file_pages.rst.",
    "{} (4711) uses deprecated remap_file_pages() syscall. See "
    "Documentation/vm/remap_file_pages.txt.",
    "warning: `{}' uses 32-bit capabilities (legacy support in use)",
    "capability: warning: `{}' uses deprecated v2 capabilities in a way that may be insecure",
    "{}[99]: memfd_create() called without MFD_EXEC or MFD_NOEXEC_SEAL set",
    "{} (4711): /proc/4711/oom_adj is deprecated, please use /proc/4711/oom_score_adj instead.",
    "{} (4711): drop_caches: 3",
    "{} uses obsolete (PF_INET,SOCK_PACKET)",
    "{}: 4711 output lines suppressed due to ratelimiting",
    "{} (4711) used greatest stack depth: 11480 bytes left",
    "process '{}' started with executable stack",
    "process `{}' is using deprecated sysctl (syscall) net.ipv6.neigh.lo.base_reachable_time",
    "futex_wake_op: {} tries to shift op by -1; fix this program",
    "ptrace attach of \"prog\"[98] was attempted by \"{}\"[99]",
};

TEST(ShippedMessages, NoNameOfATaskMakesALineAnEvent) {
  std::set<std::string> names;
  for (const MessageExample& example : entries().examples) {
    for (const std::string& line : example.lines) {
      for (std::size_t n = 3; n <= std::min<std::size_t>(line.size(), 15); ++n)
        names.insert(line.substr(0, n));
    }
  }
  EXPECT_GT(names.size(), 5000U);
  std::string line;
  std::size_t lines = 0;
  std::size_t wrong = 0;
  std::map<std::string, std::string> first_of;
  kernel_log::Assembler assembler(kernel_log::Soc::kUnknown, [&](const kernel_log::Event& event) {
    if (event.is_guess()) return;
    ++wrong;
    first_of.emplace(message_id(event), line);
  });
  for (const std::string_view form : kLinesWithAName) {
    const std::size_t at = form.find("{}");
    for (const std::string& name : names) {
      line = std::string(form.substr(0, at)) + name + std::string(form.substr(at + 2));
      kernel_log::LogLine read;
      read.text = line;
      read.number = ++lines;
      read.voice = kernel_log::Voice::kKernel;
      assembler.line(read);
      assembler.flush();
    }
  }
  for (const auto& [id, example] : first_of) ADD_FAILURE() << id << ": " << example;
  std::printf("%zu names in %zu lines of the kernel: %zu events of %zu\n", names.size(),
              kLinesWithAName.size(), wrong, lines);
}

// Nor does a process hide what the kernel reports of it by a name out of such a line, nor by such
// lines around it.
TEST(ShippedMessages, NoNameOfATaskHidesItsKill) {
  std::size_t lines = 0;
  std::size_t kills = 0;
  kernel_log::Assembler assembler(kernel_log::Soc::kUnknown, [&](const kernel_log::Event& event) {
    if (event.is_guess()) return;
    EXPECT_EQ(event.kind(), kernel_log::EventKind::kOomKill) << message_id(event);
    ++kills;
  });
  const auto feed = [&](const std::string& line) {
    kernel_log::LogLine read;
    read.text = line;
    read.number = ++lines;
    read.voice = kernel_log::Voice::kKernel;
    assembler.line(read);
  };
  for (const std::string_view form : kLinesWithAName) {
    for (std::size_t at = 0; at + 3 <= form.size(); ++at) {
      const std::string name(form.substr(at, 15));
      feed(std::string(form).replace(form.find("{}"), 2, name));
      feed("Out of memory: Killed process 4711 (" + name +
           ") total-vm:8123456kB, anon-rss:7000000kB, file-rss:0kB, shmem-rss:0kB, "
           "UID:1000 pgtables:14000kB oom_score_adj:0");
    }
  }
  assembler.flush();
  EXPECT_EQ(kills, lines / 2);
  EXPECT_GT(kills, 1000U);
}

}  // namespace
}  // namespace jetmem
