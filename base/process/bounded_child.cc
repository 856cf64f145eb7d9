// SPDX-License-Identifier: Apache-2.0
#include "base/process/bounded_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>

#include "base/exit_codes.h"
#include "base/fatal_handler.h"
#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"

namespace jetmem {
namespace {

// Of the child, whose answer then is an Errc and a message.
constexpr int kExitWorkFailed = 99;
constexpr std::size_t kMostMessage = 2000;

using SteadyClock = std::chrono::steady_clock;

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

// In bytes.
std::uint64_t address_space() {
  std::array<char, 256> buffer;
  std::string_view text = read_once("/proc/self/statm", buffer);
  return take_u64(text).value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Never above what holds already.
void limit(__rlimit_resource what, rlim_t soft, rlim_t hard) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return;
  const rlimit least{std::min(now.rlim_cur, soft), std::min(now.rlim_max, hard)};
  (void)::setrlimit(what, &least);
}

[[noreturn]] void work_and_end(const ChildBounds& bounds,
                               const std::function<Result<std::string>()>& work, int out) noexcept {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A terminal is put right by the parent, and memory that is refused is reported by it.
  // SIGBUS stays with whoever survives it (history/store/cut_mapping.h).
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGBUS) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  set_fatal_cleanup(nullptr);
  std::set_new_handler([] { ::_exit(kExitNoMemory); });
  limit(RLIMIT_CORE, 0, 0);
  const auto cpu = static_cast<rlim_t>(bounds.cpu.count());
  limit(RLIMIT_CPU, cpu, cpu + 1);
  if (!kSanitized) {
    const rlim_t memory = address_space() + bounds.memory;
    limit(RLIMIT_AS, memory, memory);
  }
  auto result = work();
  const std::string answer = result ? std::move(*result)
                                    : static_cast<char>(result.error().code) +
                                          printable(result.error().message, kMostMessage);
  for (std::size_t at = 0; at < answer.size();) {
    const ssize_t n = ::write(out, answer.data() + at, answer.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ::_exit(kExitIo);
    at += static_cast<std::size_t>(n);
  }
  // Nothing that the parent is to do at its own end.
  ::_exit(result ? 0 : kExitWorkFailed);
}

enum class Read { kAll, kTooMuch, kLate };

Read read_answer(int fd, const ChildBounds& bounds, std::string& answer) {
  const auto deadline = SteadyClock::now() + bounds.wall;
  std::array<char, 65536> piece;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now())
            .count();
    if (left <= 0) return Read::kLate;
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Read::kAll;
    answer.append(piece.data(), static_cast<std::size_t>(n));
    if (answer.size() > bounds.answer_bytes) return Read::kTooMuch;
  }
}

}  // namespace

Result<Result<std::string>> run_bounded(const ChildBounds& bounds,
                                        const std::function<Result<std::string>()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(errno_error("make", "a pipe", errno));
  const UniqueFd mine(ends[0]);
  UniqueFd others(ends[1]);
  // Or the child would print it once more, should a library call exit().
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid < 0) return tl::unexpected(errno_error("start", "a child process", errno));
  if (pid == 0) work_and_end(bounds, work, others.get());
  others.reset();
  std::string answer;
  const Read read = read_answer(mine.get(), bounds, answer);
  if (read != Read::kAll) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (read == Read::kLate) {
    return fail(Errc::kTimeout, "took more than " + std::to_string(bounds.wall.count()) + " s");
  }
  if (read == Read::kTooMuch) {
    return fail(Errc::kTooLarge, "gave more than " + megabytes(bounds.answer_bytes));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return answer;
  // Of a child whose libraries somebody may have taken over: no code is trusted.
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitWorkFailed && !answer.empty() &&
      static_cast<unsigned char>(answer[0]) <= static_cast<unsigned>(Errc::kInvalid)) {
    return Result<std::string>(
        fail(static_cast<Errc>(answer[0]), printable(answer.substr(1), kMostMessage)));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitNoMemory) {
    return fail(Errc::kTooLarge,
                "out of memory; " + megabytes(bounds.memory) + " at most may be used for it");
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return fail(Errc::kUnavailable,
                "what reads it was killed (SIGKILL), perhaps by the OOM killer");
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    return fail(Errc::kTooLarge, "took more than " + std::to_string(bounds.cpu.count()) +
                                     " s of CPU time; given up");
  }
  return fail(Errc::kMalformed,
              WIFSIGNALED(status)
                  ? "crashed what reads it (signal " + std::to_string(WTERMSIG(status)) + ")"
                  : "ended what reads it (status " + std::to_string(WEXITSTATUS(status)) + ")");
}

}  // namespace jetmem
