# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/bench. Each takes the table, the build directory and a directory of its own."""
