# SPDX-License-Identifier: Apache-2.0
# Thirty small buffers a second lose their client: a camera's rate.
limit=3300
rate=30
. $share/guest/small_leak.sh
