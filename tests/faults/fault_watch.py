# SPDX-License-Identifier: Apache-2.0
"""What a run with a fault is held to, against runs without."""

import re

# jetmemd's words about itself: they may differ. All other values are measured.
OWN = re.compile(r"^process_|^jetmem_(source_|reader|history_|log_|http_|reloads|sample|daemon|duplicate|notif|missed|lag|process|sampling|"
                 r"alert|rule|build|capture|config|start|kernel_log_|kernel_event|boot|"
                 r"message_config_|probe|program|state_file|web|label|derivation|device_marks|up|page_)")
# Of these, those which tell of trouble.
TROUBLE = re.compile(r"error|fail|lost|drop|refus|timeout|stall|absent|state|_up$|wedged|quarant|"
                     r"skipped|missed|suppressed|reader_starts|reader$|stale|orphan|unknown|"
                     r"restart|again|limited|truncat")
# Which sound like it, and are measured.
MEASURED = re.compile(r"^jetmem_(pressure|vmstat|thermal|zone|buddy)")
# What a live machine has of it does not become 0.
STEADY = re.compile(r"jetmem_(meminfo_(MemTotal|CmaTotal|SwapTotal)_|zone_(present|managed)_|device_)")
# Which of two sources is read first differs from run to run, and these say what is known then: the
# ratio goes by the camera's frame until the kernel's log is read, as its help says, and refusals of
# that log have no series before, nor incidents before the lines of processes are read too.
RACES = {"jetmem_cma_frame_fit_ratio", "jetmem_cma_largest_request_bytes", "jetmem_dma_recent_refusals",
         "jetmem_buddy_free_cma_known", "jetmem_kernel_incidents_total"}
# What may be there in place of a value, where the log says why: SMMU faults under their number instead
# of their client's name.
EXPLAINED = [(re.compile("unknown SoC: "), re.compile("jetmem_smmu_"))]
# How an answer says of a part of it that it could not be had.
MISSING = re.compile(r"could not|cannot|not known|not be|unable to|no such|too many|error|failed|refused|"
                     r"out of memory|no memory|cannot allocate|interrupted|only values in memory|stays in memory|does not answer", re.I)
# sd-event has no second try.
LOOP_FAILED = "the event loop failed: "
EXIT_NO_MEMORY = 71
# The C library itself has no other way: it says so, and aborts.
GLIBC_FATAL = "Fatal glibc error"


def plain(line):
    """A log line without what differs from run to run."""
    line = re.sub(r"^\S+ \S+ ", "", line)
    line = re.sub(r"jetmem-[a-z0-9_]{8}/", "jetmem-N/", line)
    return re.sub(r"[0-9]+(\.[0-9]+)?", "N", line)


class Reference:
    """What runs without a fault have said."""

    def __init__(self, runs):
        self.lines = {plain(line) for run in runs for line in run.log.splitlines()}
        self.values = {}
        for run in runs:
            for page in run.pages:
                for key, value in page.items():
                    self.values.setdefault(key, set()).add(value)
        for run in runs:
            assert run.status == 0 and run.pages and not run.trouble, \
                f"without a fault: {run.status} {run.trouble}\n{run.log}"
        everywhere = set.intersection(*(set(page) for run in runs for page in run.pages[-1:]))
        self.constant = {key: next(iter(values)) for key, values in self.values.items()
                         if len(values) == 1 and key in everywhere}
        self.fixed = all(run.fixed for run in runs)
        self.answers = {}
        self.words = set()
        for run in runs:
            for path, status in run.answers:
                self.answers.setdefault(path, set()).add(status)
            self.words |= {(path, plain(word)) for path, word in run.words}
        self.result = {run.result for run in runs}


def name(key):
    return f"{key[0]}{dict(key[1])}"


def wrong_values(reference, page, log):
    for key, value in page.items():
        if any(said.search(log) and family.match(key[0]) for said, family in EXPLAINED):
            continue
        if OWN.match(key[0]) or key[0] in RACES:
            continue
        known = reference.values.get(key)
        if known is None:
            if reference.fixed:
                yield f"WRONG: {name(key)} = {value:g}, which there is not without the fault"
        elif reference.fixed and value not in known:
            yield f"WRONG: {name(key)} = {value:g}, not {sorted(known)[:3]}"
        elif value == 0 and STEADY.match(key[0]) and reference.constant.get(key, 0) != 0:
            yield f"WRONG: {name(key)} = 0, never so without the fault: {sorted(known)[:3]}"


def says_so(reference, seen):
    """Where the run says that something was wrong; empty: nowhere."""
    for line in seen.log.splitlines():
        if plain(line) not in reference.lines:
            return f"log: {line}"
    for path, word in seen.words:
        if MISSING.search(word) and (path, plain(word)) not in reference.words:
            return f"{path}: {word}"
    for path, status in seen.answers:
        # Who waits and hears nothing was not told.
        if status != "TimeoutError" and status not in reference.answers.get(path, ()):
            return f"{path} answers {status}"
    for page in seen.pages:
        for key, value in page.items():
            # How many values the trends lack depends on how long it ran.
            if ("source", "trends") in key[1] or MEASURED.match(key[0]):
                continue
            if TROUBLE.search(key[0]) and \
                    value not in reference.values.get(key, {0.0}):
                return f"{name(key)} = {value:g}"
    return ""


def findings(reference, seen, site, error):
    out = list(seen.trouble)
    ended_early = seen.status != 0 and seen.status is not None
    if seen.status is None:
        out.append("did not end at SIGTERM")
    elif seen.status < 0 and site.kind == "malloc" and GLIBC_FATAL in seen.log:
        return out
    elif seen.status < 0:
        out.append(f"CRASH: signal {-seen.status}; {seen.log[-300:]!r}")
    elif ended_early:
        if site.kind in ("new", "malloc") and seen.status == EXIT_NO_MEMORY:
            if "memory" not in seen.log:
                out.append("ended without memory, and without a word")
        elif LOOP_FAILED in seen.log:
            pass
        elif site.phase != 0:
            out.append(f"ended with status {seen.status}: {seen.log[-300:]!r}")
        elif not says_so(reference, seen):
            out.append(f"did not start, and said nothing: status {seen.status}")
    for page in seen.pages:
        out += list(wrong_values(reference, page, seen.log))[:3]
    if ended_early or out:
        return list(dict.fromkeys(out))
    if not seen.sampled:
        out.append("no longer samples")
    if seen.result not in reference.result and not says_so(reference, seen):
        out.append(f"result: {seen.result}")
    if seen.failed and not out and not says_so(reference, seen):
        out.append("silent")
    return out
