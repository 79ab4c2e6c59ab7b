#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Tests of the comparison itself: it takes what is right and names what is not."""

import unittest

import sequences as s
from compare import Access, compare

BOARDS = [s.Board("02:00:00:00:77:01", 0xa00000, s.TDM, no_link) for no_link in (False, True)]


def ideal(steps: list) -> list:
    """The accesses that a driver would make, with a memory behind the registers."""
    state, out = {}, []
    for step in steps:
        if isinstance(step, s.Mdio):
            out += [Access("R", "PIR", 0), Access("W", "PIR", 2)] * 3
        elif isinstance(step, s.R):
            out.append(Access("R", step.reg, state.get(step.reg, 0)))
        elif isinstance(step, s.W):
            state[step.reg] = step.value or 0
            out.append(Access("W", step.reg, step.value or 0))
        elif isinstance(step, s.M):
            old = state.get(step.reg, 0)
            state[step.reg] = (old & ~step.clear) | step.set
            out += [Access("R", step.reg, old), Access("W", step.reg, state[step.reg])]
        else:
            out += [Access("R", step.reg, ~step.value & step.mask),
                    Access("R", step.reg, step.value)]
    return out


class Comparison(unittest.TestCase):
    """Every phase of every chip."""

    def each(self):
        for board in BOARDS:
            for chip in ("gbeth", *s.RCAR):
                for phase, steps in s.PHASES.items():
                    with self.subTest(chip=chip, phase=phase, board=board):
                        yield chip, steps(chip, board)

    def test_right(self):
        for chip, steps in self.each():
            self.assertEqual(compare(ideal(steps), steps, s.interludes(chip)), "")

    def test_missing_access(self):
        for chip, steps in self.each():
            seen = ideal(steps)
            for n, access in enumerate(seen):
                if access.kind == "W" and access.reg != "PIR":
                    report = compare(seen[:n] + seen[n + 1:], steps, s.interludes(chip))
                    self.assertIn("parts at", report, f"without {access}")

    def test_wrong_value(self):
        for chip, steps in self.each():
            seen = ideal(steps)
            for n, access in enumerate(seen):
                if access.kind == "W" and access.reg not in ("PIR", "DBAT"):
                    other = Access("W", access.reg, access.value ^ 0x80)
                    report = compare([*seen[:n], other, *seen[n + 1:]], steps, s.interludes(chip))
                    self.assertIn("parts at", report, f"{access} changed")

    def test_additional_access(self):
        for chip, steps in self.each():
            seen = ideal(steps)
            for n in range(len(seen) + 1):
                report = compare([*seen[:n], Access("W", "DLR", 1), *seen[n:]], steps,
                                 s.interludes(chip))
                self.assertIn("parts at", report, f"a write to DLR at {n}")

    def test_interludes(self):
        for chip, steps in self.each():
            seen = ideal(steps)
            irq = [Access("R", "ECSR", 4), Access("W", "ECSR", 4), Access("R", "PSR", 1),
                   Access("R", "ECMR", 0), Access("W", "ECMR", 0x60)]
            if chip not in s.MULTI_IRQ:
                irq = [Access("R", "ISS", 0x80), *irq]
            self.assertEqual(compare(seen + irq, steps, s.interludes(chip)), "")


if __name__ == "__main__":
    unittest.main()
