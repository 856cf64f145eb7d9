# SPDX-License-Identifier: Apache-2.0
"""The table that scripts/bench prints: what was measured, the rival beside it, and the target."""


class Table:
    COLUMNS = ("what", "jetmem", "rival", "ratio", "target", "verdict")

    def __init__(self):
        self.rows = []
        self.trouble = []

    def section(self, title):
        self.rows.append((title,))

    def row(self, what, jetmem, unit="", rival=None, target=None, of="value", digits=1):
        """`target` is the most that is allowed, of the value itself or of its ratio to the rival."""
        def shown(x):
            return "" if x is None else f"{x:.{digits}f} {unit}".rstrip()
        ratio = jetmem / rival if rival else None
        judged = ratio if of == "ratio" else jetmem
        self.rows.append((
            what, shown(jetmem), shown(rival), "" if ratio is None else f"{ratio:.3f}",
            "" if target is None else f"<= {target:g}" + (" x" if of == "ratio" else f" {unit}").rstrip(),
            "" if target is None or judged is None else "met" if judged <= target else "NOT MET"))

    def not_run(self, what, why):
        self.trouble.append(f"{what}: {why}")
        self.rows.append((what, "not run", "", "", "", why[:40]))

    def print(self):
        full = [self.COLUMNS] + [r for r in self.rows if len(r) > 1]
        width = [max(len(r[i]) for r in full) for i in range(len(self.COLUMNS))]
        def line(r):
            cells = [r[0].ljust(width[0])] + [c.rjust(w) for c, w in zip(r[1:5], width[1:5])]
            return "  ".join(cells + [r[5]]).rstrip()
        print(line(self.COLUMNS))
        print("-" * (sum(width) + 2 * len(width)))
        for r in self.rows:
            print(f"\n{r[0]}" if len(r) == 1 else line(r))
