# SPDX-License-Identifier: Apache-2.0
# What somebody looks at first: the page, the metrics, the kernel's log, and which sources can be read here.
curl -sf http://127.0.0.1:10743/ >/tmp/html && grep -qi '<html' /tmp/html || bad "/ is no page: $(head -c 100 /tmp/html)"
sampled() { above jetmem_sample_cycles_total 1; }
within 20 sampled && good - "the page is there, /metrics has $(grep -vc '^#' /tmp/page) series" || bad "/metrics: $(head -n 3 /tmp/page)"
followed() { [ "$(source_state kernel_log)" = ok ] && above jetmem_meminfo_MemAvailable_bytes 0; }
within 20 followed || bad "kernel_log is $(source_state kernel_log)"
jetmem sources && jetmem sources --json >/tmp/sources || bad "jetmem sources ended with $?"
grep -q kernel_log /tmp/sources && good - "jetmem sources lists $(grep -c '"source"' /tmp/sources)" || bad "jetmem sources: $(head -n 3 /tmp/sources)"
