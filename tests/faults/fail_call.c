// SPDX-License-Identifier: Apache-2.0
// Loaded in front of one of jetmem's programs: a call to the C library fails, once, as if the
// kernel or the allocator had said no. It acts in the program named FAIL_PROGRAM alone, not in what
// that one starts.
//
// A call is known by its site: its kind and the return addresses nearest to it, those of a library
// first, then FAIL_DEPTH of the program's own. So a site is the same in every run of one build.
//
//   FAIL_CONTROL   a file shared with the driver, see struct control: the driver says in it which
//                  phase this is (0 at start), and here is counted
//   FAIL_LOG       a line for each site that is seen for the first time in a phase:
//                  "site HASH PHASE KIND THREAD DETAIL FRAME FRAME..."; and for each failure, with
//                  "failed" in front
//   FAIL_SITE      the hash of the site that fails; without it, all is only written down
//   FAIL_KIND      its kind: others are not looked at, which is faster
//   FAIL_PHASE     the phase in which it fails, for FAIL_TIMES times (1), from its FAIL_NTH call on
//                  (1)
//   FAIL_ERRNO     the number it fails with; or 0 for a read or a write of half of the bytes
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

enum { kSeen = 1 << 16, kFrames = 24 };

struct control {
  uint32_t phase;
  uint32_t calls;  // of the site, in its phase
  uint32_t failed;
  uint32_t unused;
  uint64_t seen[kSeen];
};

static struct control* shared_control;
static const char* log_path;
static const char* target_kind;
static uint64_t target_site;
static uint32_t target_phase;
static uint32_t target_first = 1;
static uint32_t target_times = 1;
static int target_errno;
static unsigned own_frames = 3;
static uintptr_t program_begin;
static uintptr_t program_end;
static uintptr_t shim_begin;
static uintptr_t shim_end;
static int active;
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread int fail_next_malloc __attribute__((tls_model("initial-exec")));

static uint64_t number_of(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

static int look_at_object(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* each = &info->dlpi_phdr[i];
    if (each->p_type == PT_LOAD && each->p_vaddr + each->p_memsz > end) {
      end = each->p_vaddr + each->p_memsz;
    }
  }
  const uintptr_t here = (uintptr_t)&look_at_object;
  if (program_end == 0) {
    program_begin = info->dlpi_addr;
    program_end = info->dlpi_addr + end;
  } else if (here >= info->dlpi_addr && here < info->dlpi_addr + end) {
    shim_begin = info->dlpi_addr;
    shim_end = info->dlpi_addr + end;
  }
  (void)data;
  return 0;
}

static _Unwind_Reason_Code nothing(struct _Unwind_Context* context, void* data) {
  (void)context;
  (void)data;
  return _URC_END_OF_STACK;
}

__attribute__((constructor)) static void begin(void) {
  const char* program = getenv("FAIL_PROGRAM");
  const char* control = getenv("FAIL_CONTROL");
  if (!program || !control || strcmp(program, program_invocation_short_name) != 0) return;
  const int fd = open(control, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(NULL, sizeof *shared_control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) return;
  shared_control = page;
  log_path = getenv("FAIL_LOG");
  target_kind = getenv("FAIL_KIND");
  target_site = number_of("FAIL_SITE", 0);
  target_phase = (uint32_t)number_of("FAIL_PHASE", 0);
  target_first = (uint32_t)number_of("FAIL_NTH", 1);
  target_times = (uint32_t)number_of("FAIL_TIMES", 1);
  target_errno = (int)number_of("FAIL_ERRNO", EIO);
  own_frames = (unsigned)number_of("FAIL_DEPTH", 3);
  dl_iterate_phdr(look_at_object, NULL);
  _Unwind_Backtrace(nothing, NULL);
  active = 1;
}

struct frames {
  uintptr_t at[kFrames];
  unsigned count;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context* context, void* data) {
  struct frames* frames = data;
  const uintptr_t at = _Unwind_GetIP(context);
  if (at == 0) return _URC_END_OF_STACK;
  if (at >= shim_begin && at < shim_end) return _URC_NO_REASON;
  frames->at[frames->count++] = at;
  return frames->count == kFrames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static int is_of_program(uintptr_t at) { return at >= program_begin && at < program_end; }

// Where in its file an address lies, and of which file.
static uintptr_t offset_of(uintptr_t at, const char** file) {
  *file = "";
  if (is_of_program(at)) return at - program_begin;
  struct dl_find_object found;
  if (_dl_find_object((void*)at, &found) != 0) return 0;
  if (found.dlfo_link_map && found.dlfo_link_map->l_name) *file = found.dlfo_link_map->l_name;
  return at - (uintptr_t)found.dlfo_map_start;
}

static uint64_t mixed(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

static uint64_t site_of(const char* kind, const struct frames* frames) {
  uint64_t hash = 1469598103934665603ULL;
  for (const char* c = kind; *c; ++c) hash = mixed(hash, (unsigned char)*c);
  unsigned own = 0;
  for (unsigned i = 0; i < frames->count && own < own_frames; ++i) {
    const int is_own = is_of_program(frames->at[i]);
    // What leads to a library's call inside it says little but for the last steps of it.
    if (!is_own && i > 1) continue;
    own += is_own ? 1 : 0;
    const char* file;
    hash = mixed(hash, offset_of(frames->at[i], &file) + (is_own ? 1 : 0));
  }
  return hash == 0 ? 1 : hash;
}

static void write_line(const char* what, uint64_t site, const char* kind, const char* path, int of,
                       const struct frames* frames) {
  if (!log_path) return;
  char line[2048];
  char thread[17] = "?";
  syscall(SYS_prctl, PR_GET_NAME, thread);
  for (char* c = thread; *c; ++c) {
    if (*c == ' ') *c = '_';
  }
  char target[256] = "-";
  if (path) {
    snprintf(target, sizeof target, "%s", *path ? path : "-");
  } else if (of >= 0) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", of);
    const long n = syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    if (n <= 0) snprintf(target, sizeof target, "fd:%d", of);
  }
  for (char* c = target; *c; ++c) {
    if (*c == ' ' || *c == '\n') *c = '_';
  }
  size_t used =
      (size_t)snprintf(line, sizeof line, "%s %#llx %u %s %s %s", what, (unsigned long long)site,
                       shared_control->phase, kind, thread, target);
  for (unsigned i = 0; i < frames->count && used < sizeof line - 128; ++i) {
    const char* file;
    const uintptr_t offset = offset_of(frames->at[i], &file);
    const char* base = strrchr(file, '/');
    used += (size_t)snprintf(line + used, sizeof line - used, " %s+%#lx", base ? base + 1 : file,
                             (unsigned long)offset);
  }
  line[used++] = '\n';
  const int fd =
      (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return;
  syscall(SYS_write, fd, line, used);
  syscall(SYS_close, fd);
}

static int is_new(uint64_t key) {
  for (unsigned i = 0, at = (unsigned)(key >> 40); i < 64; ++i, ++at) {
    uint64_t* slot = &shared_control->seen[at % kSeen];
    uint64_t there = 0;
    if (__atomic_compare_exchange_n(slot, &there, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return 1;
    if (there == key) return 0;
  }
  return 0;
}

// Whether this call fails; errno is set then.
static int fails(const char* kind, const char* path, int of) {
  if (!active || inside) return 0;
  if (target_site && target_kind && strcmp(kind, target_kind) != 0) return 0;
  const uint32_t phase = __atomic_load_n(&shared_control->phase, __ATOMIC_RELAXED);
  if (target_site && phase != target_phase) return 0;
  inside = 1;
  const int error_before = errno;
  int failed = 0;
  struct frames frames;
  frames.count = 0;
  _Unwind_Backtrace(take_frame, &frames);
  const uint64_t site = site_of(kind, &frames);
  if (!target_site) {
    if (is_new(mixed(site, phase + 1))) write_line("site", site, kind, path, of, &frames);
  } else if (site == target_site) {
    const uint32_t call = __atomic_add_fetch(&shared_control->calls, 1, __ATOMIC_RELAXED);
    if (call >= target_first && call < target_first + target_times) {
      __atomic_add_fetch(&shared_control->failed, 1, __ATOMIC_RELAXED);
      write_line("failed", site, kind, path, of, &frames);
      failed = 1;
    }
  }
  inside = 0;
  errno = failed ? target_errno : error_before;
  return failed;
}

#define NEXT(name)                                     \
  static __typeof__(name)* next;                       \
  if (!next) {                                         \
    const int was_inside = inside;                     \
    inside = 1;                                        \
    next = (__typeof__(name)*)dlsym(RTLD_NEXT, #name); \
    inside = was_inside;                               \
  }

// WRAP(type, name, kind, parameters, arguments, what it gives when it fails, path, descriptor)
#define WRAP(type, name, kind, parameters, arguments, failure, path, fd) \
  type name parameters {                                                 \
    NEXT(name)                                                           \
    if (fails(kind, path, fd)) return failure;                           \
    return next arguments;                                               \
  }

// Of calls that return -1 when they fail: with a descriptor `fd`, with a `path`, with neither.
#define WRAP_FD(name, kind, parameters, arguments) \
  WRAP(int, name, kind, parameters, arguments, -1, NULL, fd)
#define WRAP_PATH(name, kind, parameters, arguments) \
  WRAP(int, name, kind, parameters, arguments, -1, path, -1)
#define WRAP_CALL(name, kind, parameters, arguments) \
  WRAP(int, name, kind, parameters, arguments, -1, NULL, -1)

// Of bytes: FAIL_ERRNO 0 is half of them.
#define WRAP_BYTES(name, kind, parameters, size, arguments, fd) \
  ssize_t name parameters {                                     \
    NEXT(name)                                                  \
    if (fails(kind, NULL, fd)) {                                \
      if (target_errno != 0) return -1;                         \
      size = size > 1 ? size / 2 : size;                        \
    }                                                           \
    return next arguments;                                      \
  }

// ---------------------------------------------------------------------------------------- files

#define OPEN(name, parameters, arguments)     \
  int name parameters {                       \
    NEXT(name)                                \
    va_list rest;                             \
    va_start(rest, flags);                    \
    const mode_t mode = va_arg(rest, mode_t); \
    va_end(rest);                             \
    if (fails("open", path, -1)) return -1;   \
    return next arguments;                    \
  }
OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char* path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char* path, int flags, ...), (at, path, flags, mode))
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
WRAP_PATH(__open_2, "open", (const char* path, int flags), (path, flags))
WRAP_PATH(__open64_2, "open", (const char* path, int flags), (path, flags))
WRAP_PATH(__openat_2, "open", (int at, const char* path, int flags), (at, path, flags))
WRAP_PATH(__openat64_2, "open", (int at, const char* path, int flags), (at, path, flags))
WRAP(FILE*, fopen, "open", (const char* path, const char* mode), (path, mode), NULL, path, -1)
WRAP(FILE*, fopen64, "open", (const char* path, const char* mode), (path, mode), NULL, path, -1)
WRAP(DIR*, opendir, "open", (const char* path), (path), NULL, path, -1)
WRAP(DIR*, fdopendir, "fdopendir", (int fd), (fd), NULL, NULL, fd)
WRAP_PATH(mkostemp64, "open", (char* path, int flags), (path, flags))

// What it lists is over at once, with an error.
struct dirent* readdir(DIR* directory) {
  NEXT(readdir)
  return fails("readdir", NULL, -1) ? NULL : next(directory);
}
struct dirent64* readdir64(DIR* directory) {
  NEXT(readdir64)
  return fails("readdir", NULL, -1) ? NULL : next(directory);
}

// The descriptor is gone nevertheless.
int close(int fd) {
  NEXT(close)
  const int failed = fails("close", NULL, fd);
  const int result = next(fd);
  if (!failed) return result;
  errno = target_errno;
  return -1;
}

WRAP_BYTES(read, "read", (int fd, void* to, size_t size), size, (fd, to, size), fd)
WRAP_BYTES(pread, "read", (int fd, void* to, size_t size, off_t at), size, (fd, to, size, at), fd)
WRAP_BYTES(pread64, "read", (int fd, void* to, size_t size, off64_t at), size, (fd, to, size, at),
           fd)
WRAP_BYTES(write, "write", (int fd, const void* from, size_t size), size, (fd, from, size), fd)
WRAP_BYTES(pwrite, "write", (int fd, const void* from, size_t size, off_t at), size,
           (fd, from, size, at), fd)
WRAP_BYTES(pwrite64, "write", (int fd, const void* from, size_t size, off64_t at), size,
           (fd, from, size, at), fd)
WRAP(ssize_t, readv, "readv", (int fd, const struct iovec* parts, int count), (fd, parts, count),
     -1, NULL, fd)
WRAP(ssize_t, writev, "writev", (int fd, const struct iovec* parts, int count), (fd, parts, count),
     -1, NULL, fd)
WRAP_FD(fsync, "fsync", (int fd), (fd))
WRAP_FD(fdatasync, "fsync", (int fd), (fd))
WRAP_FD(ftruncate, "ftruncate", (int fd, off_t size), (fd, size))
WRAP_FD(ftruncate64, "ftruncate", (int fd, off64_t size), (fd, size))
WRAP(int, posix_fallocate64, "fallocate", (int fd, off64_t at, off64_t size), (fd, at, size),
     target_errno, NULL, fd)
WRAP_FD(flock, "flock", (int fd, int how), (fd, how))
WRAP_PATH(chmod, "chmod", (const char* path, mode_t mode), (path, mode))
WRAP_FD(fchmod, "chmod", (int fd, mode_t mode), (fd, mode))
WRAP_FD(fchown, "chown", (int fd, uid_t user, gid_t group), (fd, user, group))
WRAP(int, rename, "rename", (const char* from, const char* to), (from, to), -1, to, -1)
WRAP(int, renameat, "rename", (int a, const char* from, int b, const char* to), (a, from, b, to),
     -1, to, -1)
WRAP_PATH(unlink, "unlink", (const char* path), (path))
WRAP_PATH(unlinkat, "unlink", (int at, const char* path, int flags), (at, path, flags))
WRAP_PATH(mkdir, "mkdir", (const char* path, mode_t mode), (path, mode))
WRAP(ssize_t, readlink, "readlink", (const char* path, char* to, size_t size), (path, to, size), -1,
     path, -1)
WRAP(ssize_t, readlinkat, "readlink", (int at, const char* path, char* to, size_t size),
     (at, path, to, size), -1, path, -1)
WRAP_PATH(access, "access", (const char* path, int mode), (path, mode))
WRAP_PATH(stat, "stat", (const char* path, struct stat* to), (path, to))
WRAP_PATH(lstat, "stat", (const char* path, struct stat* to), (path, to))
WRAP_FD(fstat, "stat", (int fd, struct stat* to), (fd, to))
WRAP_PATH(fstatat, "stat", (int at, const char* path, struct stat* to, int flags),
          (at, path, to, flags))
WRAP_PATH(stat64, "stat", (const char* path, struct stat64* to), (path, to))
WRAP_PATH(lstat64, "stat", (const char* path, struct stat64* to), (path, to))
WRAP_FD(fstat64, "stat", (int fd, struct stat64* to), (fd, to))
WRAP_PATH(fstatat64, "stat", (int at, const char* path, struct stat64* to, int flags),
          (at, path, to, flags))
WRAP_FD(fstatfs, "statfs", (int fd, struct statfs* to), (fd, to))
WRAP_FD(fstatfs64, "statfs", (int fd, struct statfs64* to), (fd, to))
WRAP_PATH(statvfs, "statfs", (const char* path, struct statvfs* to), (path, to))
WRAP(off64_t, lseek64, "lseek", (int fd, off64_t to, int from), (fd, to, from), -1, NULL, fd)
WRAP(void*, mmap, "mmap", (void* at, size_t size, int how, int flags, int fd, off_t from),
     (at, size, how, flags, fd, from), MAP_FAILED, NULL, fd)
WRAP(void*, mmap64, "mmap", (void* at, size_t size, int how, int flags, int fd, off64_t from),
     (at, size, how, flags, fd, from), MAP_FAILED, NULL, fd)

static int fcntl_fails(int command, int fd) {
  const int is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
  return fails(is_lock ? "lock" : "fcntl", NULL, fd);
}
#define FCNTL(name)                          \
  int name(int fd, int command, ...) {       \
    NEXT(name)                               \
    va_list rest;                            \
    va_start(rest, command);                 \
    void* argument = va_arg(rest, void*);    \
    va_end(rest);                            \
    if (fcntl_fails(command, fd)) return -1; \
    return next(fd, command, argument);      \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

int ioctl(int fd, unsigned long request, ...) {
  NEXT(ioctl)
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (fails("ioctl", NULL, fd)) return -1;
  return next(fd, request, argument);
}

// ----------------------------------------------------------------------------- sockets and waits

WRAP_CALL(socket, "socket", (int family, int type, int protocol), (family, type, protocol))
WRAP_CALL(socketpair, "socket", (int family, int type, int protocol, int ends[2]),
          (family, type, protocol, ends))
WRAP_FD(bind, "bind", (int fd, const struct sockaddr* to, socklen_t size), (fd, to, size))
WRAP_FD(listen, "listen", (int fd, int backlog), (fd, backlog))
WRAP_FD(connect, "connect", (int fd, const struct sockaddr* to, socklen_t size), (fd, to, size))
WRAP_FD(accept, "accept", (int fd, struct sockaddr* from, socklen_t* size), (fd, from, size))
WRAP_FD(accept4, "accept", (int fd, struct sockaddr* from, socklen_t* size, int flags),
        (fd, from, size, flags))
WRAP_FD(setsockopt, "setsockopt", (int fd, int level, int name, const void* value, socklen_t size),
        (fd, level, name, value, size))
WRAP_FD(getsockopt, "getsockopt", (int fd, int level, int name, void* value, socklen_t* size),
        (fd, level, name, value, size))
WRAP_FD(getsockname, "getsockname", (int fd, struct sockaddr* to, socklen_t* size), (fd, to, size))
WRAP_FD(shutdown, "shutdown", (int fd, int how), (fd, how))
WRAP_BYTES(send, "send", (int fd, const void* from, size_t size, int flags), size,
           (fd, from, size, flags), fd)
WRAP_BYTES(sendto, "send",
           (int fd, const void* from, size_t size, int flags, const struct sockaddr* to,
            socklen_t length),
           size, (fd, from, size, flags, to, length), fd)
WRAP_BYTES(recv, "recv", (int fd, void* to, size_t size, int flags), size, (fd, to, size, flags),
           fd)
WRAP(ssize_t, sendmsg, "sendmsg", (int fd, const struct msghdr* message, int flags),
     (fd, message, flags), -1, NULL, fd)
WRAP(ssize_t, recvmsg, "recvmsg", (int fd, struct msghdr* message, int flags), (fd, message, flags),
     -1, NULL, fd)
WRAP(ssize_t, sendfile, "sendfile", (int to, int from, off_t* at, size_t size),
     (to, from, at, size), -1, NULL, to)
WRAP(ssize_t, sendfile64, "sendfile", (int to, int from, off64_t* at, size_t size),
     (to, from, at, size), -1, NULL, to)
WRAP_CALL(poll, "poll", (struct pollfd * list, nfds_t count, int patience), (list, count, patience))
WRAP_CALL(epoll_create1, "epoll_create", (int flags), (flags))
// What is in it already costs nothing to change or take out.
int epoll_ctl(int fd, int what, int of, struct epoll_event* event) {
  NEXT(epoll_ctl)
  if (what == EPOLL_CTL_ADD && fails("epoll_ctl", NULL, of)) return -1;
  return next(fd, what, of, event);
}
WRAP_FD(epoll_wait, "epoll_wait", (int fd, struct epoll_event* events, int count, int patience),
        (fd, events, count, patience))
WRAP_CALL(eventfd, "eventfd", (unsigned count, int flags), (count, flags))
WRAP_CALL(timerfd_create, "timerfd_create", (clockid_t clock, int flags), (clock, flags))
WRAP_FD(timerfd_settime, "timerfd_settime",
        (int fd, int flags, const struct itimerspec* to, struct itimerspec* was),
        (fd, flags, to, was))
int signalfd(int, const sigset_t*, int);
WRAP_CALL(signalfd, "signalfd", (int fd, const sigset_t* set, int flags), (fd, set, flags))
int inotify_init1(int);
int inotify_add_watch(int, const char*, uint32_t);
WRAP_CALL(inotify_init1, "inotify", (int flags), (flags))
WRAP(int, inotify_add_watch, "inotify", (int fd, const char* path, uint32_t mask), (fd, path, mask),
     -1, path, fd)
WRAP_CALL(pipe2, "pipe", (int ends[2], int flags), (ends, flags))
WRAP(int, memfd_create, "memfd", (const char* name, unsigned flags), (name, flags), -1, name, -1)
ssize_t getrandom(void*, size_t, unsigned);
WRAP(ssize_t, getrandom, "getrandom", (void* to, size_t size, unsigned flags), (to, size, flags),
     -1, NULL, -1)

// --------------------------------------------------------------------------- processes and threads

WRAP(pid_t, fork, "fork", (void), (), -1, NULL, -1)
WRAP_PATH(execve, "exec", (const char* path, char* const* argv, char* const* env),
          (path, argv, env))
WRAP_FD(dup2, "dup", (int fd, int to), (fd, to))
WRAP_CALL(kill, "kill", (pid_t pid, int number), (pid, number))
WRAP_CALL(setpgid, "setpgid", (pid_t pid, pid_t group), (pid, group))
WRAP(pid_t, waitpid, "wait", (pid_t pid, int* status, int flags), (pid, status, flags), -1, NULL,
     -1)
WRAP_CALL(waitid, "wait", (idtype_t type, id_t id, siginfo_t* to, int flags), (type, id, to, flags))
WRAP_CALL(uname, "uname", (struct utsname * to), (to))
WRAP_CALL(adjtimex, "adjtimex", (struct timex * to), (to))
WRAP(int, pthread_create, "thread",
     (pthread_t * thread, const pthread_attr_t* how, void* (*run)(void*), void* with),
     (thread, how, run, with), target_errno, NULL, -1)

static const char* name_of_call(long number) {
  return number == SYS_openat2       ? "openat2"
         : number == SYS_pidfd_open  ? "pidfd_open"
         : number == SYS_close_range ? "close_range"
                                     : "syscall";
}
long syscall(long number, ...) {
  NEXT(syscall)
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(rest, long);
  va_end(rest);
  if (number != SYS_futex && number != SYS_gettid &&
      fails(name_of_call(number), number == SYS_openat2 ? (const char*)a[1] : NULL, -1)) {
    return -1;
  }
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// --------------------------------------------------------------------------------------- memory

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static int malloc_fails(void) {
  if (fail_next_malloc) {
    fail_next_malloc = 0;
    errno = ENOMEM;
    return 1;
  }
  return fails("malloc", NULL, -1);
}
void* malloc(size_t size) { return malloc_fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return malloc_fails() ? NULL : __libc_calloc(count, size);
}
void* realloc(void* was, size_t size) { return malloc_fails() ? NULL : __libc_realloc(was, size); }
void* memalign(size_t to, size_t size) { return malloc_fails() ? NULL : __libc_memalign(to, size); }
void* aligned_alloc(size_t to, size_t size) {
  return malloc_fails() ? NULL : __libc_memalign(to, size);
}
int posix_memalign(void** at, size_t to, size_t size) {
  if (malloc_fails()) return ENOMEM;
  void* there = __libc_memalign(to, size);
  if (!there) return ENOMEM;
  *at = there;
  return 0;
}

// C++'s own, so that it is told from C's: that throws. It asks malloc, which then says no.
static void* new_of(void* (*next)(size_t), size_t size) {
  if (fails("new", NULL, -1)) fail_next_malloc = 1;
  const int was_inside = inside;
  if (!fail_next_malloc) inside = 1;  // malloc is not asked again
  void* there = next(size);
  inside = was_inside;
  return there;
}
void* _Znwm(size_t);
void* _Znwm(size_t size) {
  NEXT(_Znwm)
  return new_of(next, size);
}
void* _Znam(size_t);
void* _Znam(size_t size) {
  NEXT(_Znam)
  return new_of(next, size);
}
