"""Metrics whose names sound like a loss or failure, and that Device does not draw: each with the reason."""

NOT_DRAWN = {
    "jetmem_log_withheld_total": "on purpose: a source that flaps is told of in one entry, and is to be seen in Blind",
    "jetmem_probe_failures_total": "what a probe finds, not a failure of jetmem's own: What failed and Can memory be had?",
    "jetmem_vmstat_thp_collapse_alloc_failed_total": "the kernel's, and of no harm",
    "jetmem_zram_failed_reads_total": "the kernel's: see docs/metrics.md",
    "jetmem_zram_failed_writes_total": "the kernel's: see docs/metrics.md",
}
