// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>

namespace jetmem {

namespace {

// Raises a negative oom_score_adj of this process to 0. Returns an errno if that failed for a
// reason that may pass; where a sandbox forbids it, the child runs with the score that it has.
int give_up_oom_protection() {
  const int fd = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  char sign = 0;
  if (error == 0 && ::read(fd, &sign, 1) < 0) error = errno;
  if (error == 0 && sign == '-' && ::pwrite(fd, "0", 1, 0) < 0) error = errno;
  if (fd >= 0) ::close(fd);
  const bool is_forbidden = error == ENOENT || error == EACCES || error == EPERM || error == EROFS;
  return is_forbidden ? 0 : error;
}

// Runs in the child between fork and exec: only async-signal-safe calls from here on. Returns an
// errno when something failed.
int become_child(const SpawnRequest& request, char* const* argv, char* const* envp, pid_t parent,
                 int error_pipe) {
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != parent) ::_exit(0);  // it died before the line above
  if (const int error = give_up_oom_protection(); error != 0) return error;
  // Failing is harmless: then it stays in its parent's group.
  if (request.own_process_group) ::setpgid(0, 0);
  int moved[16];
  const std::size_t count = std::min<std::size_t>(request.descriptors.size(), 16);
  // First out of the way of every target number, then onto them. No higher than that: a number at
  // the limit of open files or above it is "Invalid argument".
  int free = 3;
  for (std::size_t i = 0; i < count; ++i) free = std::max(free, request.descriptors[i].second + 1);
  const int pipe = ::fcntl(error_pipe, F_DUPFD_CLOEXEC, free);
  if (pipe < 0) return errno;
  for (std::size_t i = 0; i < count; ++i) {
    moved[i] = ::fcntl(request.descriptors[i].first, F_DUPFD_CLOEXEC, free);
    if (moved[i] < 0) return errno;
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return errno;
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(null, fd) < 0) return errno;
  }
  int last = 2;
  for (std::size_t i = 0; i < count; ++i) {
    const int target = request.descriptors[i].second;
    if (::dup2(moved[i], target) < 0) return errno;
    last = std::max(last, target);
  }
  // Everything between the handed-over descriptors and the error pipe, and above it. What was moved
  // is among them.
  for (int fd = last + 1; fd < pipe; ++fd) ::close(fd);
  close_from(pipe + 1);
  ::execve(argv[0], argv, envp);
  const int error = errno;
  ssize_t ignored = ::write(pipe, &error, sizeof error);
  (void)ignored;
  ::_exit(127);
}

}  // namespace

void close_from(int first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  const long limit = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < (limit > 0 && limit < 65536 ? limit : 65536); ++fd) ::close(fd);
}

std::string find_companion(std::string_view name) {
  std::array<char, PATH_MAX> self;
  const ssize_t n = ::readlink("/proc/self/exe", self.data(), self.size());
  if (n <= 0) return {};
  std::string directory(self.data(), static_cast<std::size_t>(n));
  directory.resize(directory.rfind('/'));
  // Installed: bin/ or libexec/jetmem/ beside libexec/jetmem/; in a build tree: collectors/, cli/
  // or probes/program/.
  for (const char* location :
       {"/", "/../libexec/jetmem/", "/../collectors/", "/../probes/program/", "/../cli/"}) {
    std::string path = directory + location + std::string(name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

Result<Child> SystemSpawner::spawn(const SpawnRequest& request) {
  std::vector<char*> argv;
  for (const std::string& argument : request.argv)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // A fixed, small environment: nothing of ours leaks, nothing of ours steers the child.
  static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  static char lang[] = "LC_ALL=C.UTF-8";
  std::vector<char*> envp{path, lang};
  for (const std::string& variable : request.environment)
    envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return tl::unexpected(errno_error("start", request.argv[0], errno));
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return tl::unexpected(errno_error("start", request.argv[0], errno));
  if (pid == 0) {
    const int error = become_child(request, argv.data(), envp.data(), parent, write_end.get());
    ssize_t ignored = ::write(write_end.get(), &error, sizeof error);
    (void)ignored;
    ::_exit(127);
  }
  write_end.reset();
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(read_end.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    return tl::unexpected(errno_error("start", request.argv[0], error));
  }
  return Child{pid, open_pidfd(pid)};
}

}  // namespace jetmem
