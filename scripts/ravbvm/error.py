# SPDX-License-Identifier: GPL-2.0
"""The package's exception."""


class VmError(Exception):
    """Why a guest cannot be run, in a sentence for the person who asked for it."""
