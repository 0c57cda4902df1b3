# SPDX-License-Identifier: GPL-2.0-or-later
"""The pinned maps, read and written from outside."""

import json
import os
import struct
import subprocess


class Maps:
    """Maps under a pin directory, through bpftool."""

    def __init__(self, pin):
        self.pin = pin
        raw = self.get("jp_control", 0)
        self.nslots, self.ncpus = struct.unpack_from("<2I", raw, 4)

    def has(self, name):
        return os.path.exists("%s/maps/%s" % (self.pin, name))

    def bpftool(self, what, name, key, *more):
        return subprocess.run(["bpftool", "-j", "map", what, "pinned",
                               "%s/maps/%s" % (self.pin, name), "key", "hex"]
                              + ["%02x" % b for b in struct.pack("<I", key)] + list(more),
                              capture_output=True, check=True).stdout

    def get(self, name, key):
        return bytes(int(b, 16) for b in json.loads(self.bpftool("lookup", name, key))["value"])

    def put(self, name, key, raw):
        self.bpftool("update", name, key, "value", "hex", *("%02x" % b for b in raw))

    def add(self, name, key, numbers):
        """Adds to the element's 64-bit words from the first on."""
        raw = bytearray(self.get(name, key))
        for i, n in enumerate(numbers):
            struct.pack_into("<Q", raw, 8 * i, struct.unpack_from("<Q", raw, 8 * i)[0] + n)
        self.put(name, key, bytes(raw))

    def cpu_slot(self, cpu, slot):
        return cpu * self.nslots + slot
