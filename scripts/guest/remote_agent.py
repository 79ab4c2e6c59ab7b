# SPDX-License-Identifier: GPL-2.0
"""REMOTE_TYPE=agent for the kernel tree's drivers/net/lib/py: the far end is behind the command `remote`."""

import base64
import os
import subprocess
import uuid


class Remote:
    """What lib/py expects of a far end: cmd() starts a command, deploy() brings a file there."""

    def __init__(self, _name, dir_path):
        self.dir_path = dir_path
        self._deployed = []

    def __del__(self):
        if self._deployed:
            self.cmd("rm -f " + " ".join(self._deployed)).communicate()
            self._deployed = []

    def cmd(self, comm):
        return subprocess.Popen(["remote", "-c", comm], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def deploy(self, what):
        if not os.path.isabs(what):
            what = os.path.abspath(self.dir_path + "/" + what)
        name = f"/tmp/{uuid.uuid4().hex}-{os.path.basename(what)}"
        with open(what, "rb") as file:
            data = base64.b64encode(file.read()).decode()
        proc = self.cmd(f"base64 -d >{name} <<<{data} && chmod 755 {name}")
        proc.communicate()
        if proc.returncode:
            raise OSError(f"could not bring {what} to the far end")
        self._deployed.append(name)
        return name
