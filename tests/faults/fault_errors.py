# SPDX-License-Identifier: Apache-2.0
"""What each kind of call may fail with; and of which of these failures nothing need be said, and why."""

import errno
import re

MEMORY = ("ENOMEM",)
ERRORS = {
    "open": ("EMFILE", "EIO", "EINTR"),
    "openat2": ("EMFILE", "EIO", "EAGAIN", "EINTR"),
    "read": ("EIO", "EINTR", "short"),
    "write": ("ENOSPC", "EINTR", "short"),
    "readv": ("EIO",), "writev": ("EPIPE", "EINTR"),
    "readdir": ("EIO",),
    "fdopendir": ("ENOMEM",),
    "close": ("EIO",),
    "fsync": ("EIO",), "ftruncate": ("ENOSPC",), "fallocate": ("ENOSPC",),
    "flock": ("EINTR", "ENOLCK"), "lock": ("ENOLCK", "EAGAIN"), "fcntl": ("EMFILE",),
    "chmod": ("EPERM",), "chown": ("EPERM",), "rename": ("EACCES",), "unlink": ("EACCES",),
    "mkdir": ("ENOSPC",), "readlink": ("ENOMEM",), "access": ("EACCES",),
    "stat": ("EIO",), "statfs": ("EIO",), "lseek": ("EIO",),
    "mmap": MEMORY, "malloc": MEMORY, "new": MEMORY, "thread": ("EAGAIN",),
    "socket": ("EMFILE",), "bind": ("EADDRINUSE",), "listen": ("EADDRINUSE",),
    "connect": ("ECONNREFUSED", "EINTR"), "accept": ("EMFILE", "ECONNABORTED", "EINTR"),
    "setsockopt": ("ENOMEM",), "getsockopt": ("ENOBUFS",), "getsockname": ("ENOBUFS",),
    "shutdown": ("ENOTCONN",),
    "send": ("ENOBUFS", "EINTR", "EAGAIN", "short"), "sendmsg": ("ENOBUFS", "EINTR"),
    "sendfile": ("EIO",),
    "recv": ("ECONNRESET", "EINTR", "short"), "recvmsg": ("ENOMEM", "EINTR"),
    "poll": ("EINTR", "ENOMEM"), "epoll_create": ("EMFILE",), "epoll_ctl": ("ENOMEM", "ENOSPC"),
    "epoll_wait": ("EINTR",), "eventfd": ("EMFILE",),
    "timerfd_create": ("EMFILE",), "timerfd_settime": (), "signalfd": ("EMFILE",),
    "inotify": ("EMFILE",), "pipe": ("EMFILE",), "memfd": ("EMFILE",), "getrandom": ("EINTR",),
    "fork": ("EAGAIN", "ENOMEM"), "exec": ("ENOMEM", "EACCES"), "dup": ("EMFILE",), "kill": ("EPERM",),
    "setpgid": ("EPERM",), "wait": ("EINTR", "ECHILD"),
    "ioctl": ("ENOMEM", "EINTR"), "uname": ("EFAULT",), "adjtimex": ("EPERM",),
    "pidfd_open": ("EMFILE", "ENOSYS"), "close_range": ("ENOSYS",), "syscall": ("ENOMEM",),
}


# The kernel gives these no such errors: the calls cannot fail so.
IMPOSSIBLE = re.compile(r"(read|write) (?!EINTR)\w+ anon_inode:\[(eventfd|timerfd|signalfd)\]|"
                        r"read EIO pipe:\[")


def errors_of(site):
    return [error for error in ERRORS[site.kind]
            if not IMPOSSIBLE.match(f"{site.kind} {error} {site.detail}")]


def number(name):
    return 0 if name == "short" else getattr(errno, name)


# What runs before main() in jetmem-probe is NVIDIA's, and does not ask whether there is memory: the
# program dies, and whoever started it says so.
# And where libarchive has no memory for its own first things it does not ask either.
NOT_OURS = re.compile(r"^libarchive\S+ < libarchive\S+ < BundleWriter::create")


# (kind, error, where, why): regular expressions; nothing need be said when all match.
CALMED = [
    ("dup", ".*", "reader::", "whoever started it gave it /dev/null already"),
    ("open", ".*", "^reader::.* /dev/null ", "whoever started it gave it /dev/null already"),
    ("open", ".*", "libsqlite3.* /\\S*history.db-wal jetmem-query", "SQLite opens it only to read instead"),
    ("open|write|fsync|rename", ".*", "boots.json",
     "written again; jetmem_boot_history_errors_total tells at the source's next reading"),
    (".*", ".*", "query_system_state", "how the run ended is recorded as not reported"),
    (".*", ".*", "ProcessUsage::write", "jetmem's own figures are left out of that page"),
    ("eventfd", ".*", "QueryWorker",
     "a request that waits comes again by itself, a quarter of a second later"),
    ("access|readlink", ".*", "find_companion|find_tegrastats",
     "one of several places where a program may be; of none found its source tells"),
    ("pidfd_open|close_range", ".*", ".*", "kernels before 5.3 and 5.9 have none: done the old way"),
    ("stat|open|flock|chmod", ".*", "marks.jsonl", "looked at again within the minute"),
    ("thread|open|stat|read|malloc", ".*", "look_at_bundles|BundlesSeen", "how many captures there are is left out"),
    ("fsync|open", ".*", "/state/? ", "the name of a new file: written with the next"),
    ("fsync|open|read|write|lock|ftruncate|stat|malloc", ".*",
     "Connection::checkpoint|Connection::close",
     "a checkpoint: the log of what was written stays, and the next one takes it along"),
    ("open|read", ".*", "/dev/urandom", "SQLite seeds itself by the time instead"),
    ("shutdown", ".*", ".*", "the client is gone, which is what was wanted"),
    ("openat2", ".*", "Root::at", "as on kernels before 5.6: each step is checked by itself"),
    ("malloc", ".*", "libyaml-cpp|_GLOBAL__sub_I_main",
     "what C++ asks the C library about names and codes"),
    ("malloc", ".*", "libgnutls|libsystemd", "tried again, or done without: what fails is told"),
    ("poll", "ENOMEM", ".*", "the loop comes round again"),
    ("eventfd", ".*", "^(?!.*start_thread).*KernelLogThread::take",
     "made again where the thread is started, which reports it"),
    ("recv", "ECONNRESET", "libmicrohttpd", "the client is gone"),
    ("signalfd", ".*", "~SdEventLoop", "the process is ending"),
    ("malloc", ".*", "libdeflate.* < Gzip::", "the page is compressed as a whole, or goes out uncompressed"),
    ("open|openat2|read", ".*", "read_recorded", "the files of the tree are read instead"),
    (".*", "EINTR|short", ".*", "the rest is asked for again, and nothing is lost"),
    ("accept", "ECONNABORTED", ".*", "the client went away: the next one is taken"),
    ("close", ".*", ".*", "the descriptor is given back nevertheless; what must last was synced before"),
    ("lock", ".*", "libsqlite3", "SQLite asks again, and tells when it gives up"),
    ("stat|unlink|access|readlink|malloc|mmap|chown|chmod", ".*", "libsqlite3",
     "a look or a cache that SQLite does without; what it then cannot do it tells"),
    ("stat", ".*", "file_bytes|file_exists|changed_at",
     "sizes and leftovers of an earlier database: looked at again before the next job"),
    ("open|read", ".*", "/proc/(thread-self|[0-9]+/task/[0-9]+)/io",
     "how many bytes a write took is not known, and a guess is held against the budget"),
    ("stat", ".*", "remove_if_there", "it is removed without a look, and what then fails is told"),
    ("unlink|stat", ".*", "api.socket", "the next start puts its own in its place"),
    ("setsockopt", ".*", "http_port|HttpPort|Listener::|libmicrohttpd|libcurl",
     "sizes of buffers, and how long a dead client is kept: a wish; what then cannot be bound is told"),
    ("malloc", ".*", "libz.so", "the page goes out uncompressed"),
    ("malloc", ".*", "libspdlog.so|spdlog::pattern_formatter", "the C library reads no time zone: the log's times are UTC"),
    ("open", ".*", "Root::live.* / ", "--root puts another in its place; live, every source fails"),
    ("open|read", ".*", "of_this_machine < Root::live < main",
     "--root puts another in its place; live, the log says that the boot's number is missing"),
    ("open|read", ".*", "of_this_machine < Root::live < reader::",
     "which boot this is jetmem-reader does not need to know"),
    ("open|read", ".*", "libsystemd.*/random/boot_id",
     "sd-event spreads the timers of several machines by it, and does without"),
    ("read", "EIO", "^read_to_end < SnapshotReader::read_file",
     "a descriptor that was kept: the file is opened afresh and read; what then fails is told"),
    ("fcntl", ".*", "libmicrohttpd.*HttpPort::accept_waiting", "it does not block already (accept4)"),
    ("kill|wait|epoll_ctl", ".*", "reader::Client::abandon < reader::Client::~",
     "jetmemd ends, and jetmem-reader with their connection, or at its deadline"),
]


def is_calmed(site, error, where):
    return any(re.fullmatch(kind, site.kind) and re.fullmatch(errors, error) and
               re.search(at, f"{where} {site.detail} {site.thread}") for kind, errors, at, _why in CALMED)
