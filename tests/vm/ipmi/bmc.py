#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bmc.py PORT-FILE: a BMC for QEMU's ipmi-bmc-extern, which speaks OpenIPMI's "VM" protocol over TCP.

It has three sensors (two in watts), DCMI power, and moods. The guest sets them by a command of its
own, network function 0x30: 0x01 WATTS (2 bytes) sets the power, 0x02 MOOD one of MOODS.
The port it listens on goes to PORT-FILE.
"""
import os
import socket
import struct
import sys
import time

MOODS = ["fine", "busy", "slow", "hung", "inactive", "frozen", "nodcmi"]
SLOW_S = 1.5
WATTS, CELSIUS = 6, 1
OK, INVALID, BUSY, ABSENT = b"\x00", b"\xc1", b"\xc0", b"\xcb"


def record(number, kind, unit, m, name):
    """A full sensor record that reads M * raw."""
    name = name.encode()
    body = bytes([0x20, 0, number, 7, 1, 0x7F, 0x68, kind, 1]) + bytes(6)
    body += bytes([0, unit, 0, 0, m & 0xFF, m >> 8 << 6, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0])
    body += bytes(11) + bytes([0xC0 | len(name)]) + name
    return struct.pack("<HBBB", number, 0x51, 1, len(body)) + body


class Bmc:
    def __init__(self):
        self.watts, self.mood, self.stamp = 420, "fine", 0
        self.sensors = {1: ("CPU1 Temp", CELSIUS, 1), 2: ("Sys Power", WATTS, 4), 3: ("PSU1 Input", WATTS, 2)}
        self.records = [record(n, 0x0B if unit == WATTS else 1, unit, m, name)
                        for n, (name, unit, m) in self.sensors.items()]

    def sdr(self, data):
        record_id, offset, count = struct.unpack("<HBB", data[2:6])
        i = record_id - 1 if record_id else 0
        if i >= len(self.records):
            return ABSENT
        if count > 32:
            return b"\xca"
        following = 0xFFFF if i + 1 == len(self.records) else i + 2
        return OK + struct.pack("<H", following) + self.records[i][offset:offset + count]

    def reading(self, number):
        if number not in self.sensors:
            return ABSENT
        _, unit, m = self.sensors[number]
        return OK + bytes([min((self.watts if unit == WATTS else 47) // m, 255), 0xC0, 0xC0])

    def power(self):
        if self.mood != "frozen":
            self.stamp = int(time.time())
        active = 0 if self.mood == "inactive" else 0x40
        return OK + b"\xdc" + struct.pack("<HHHHIIB", self.watts, 100, 900, 500, self.stamp, 1000, active)

    def answer(self, netfn, cmd, data):
        """None: no answer at all."""
        if (netfn, cmd) == (0x30, 1):
            self.watts = struct.unpack("<H", data[:2])[0]
            return OK
        if (netfn, cmd) == (0x30, 2):
            self.mood = MOODS[data[0]]
            return OK
        if (netfn, cmd) in ((4, 0x2D), (0x2C, 2)):
            if self.mood == "busy":
                return BUSY
            if self.mood == "hung":
                return None
            if self.mood == "slow":
                time.sleep(SLOW_S)
        if (netfn, cmd) == (0x2C, 2):
            return INVALID if self.mood == "nodcmi" else self.power()
        fixed = {
            (6, 0x01): OK + bytes([0x20, 1, 2, 0x10, 2, 0x0F, 0x91, 0x12, 0, 2, 0x0F]),
            (6, 0x2E): OK, (6, 0x2F): OK + b"\x09", (6, 0x30): OK, (6, 0x31): OK + b"\x00",
            (6, 0x37): OK + bytes(range(16)),
            (6, 0x42): OK + bytes([0x0F, 0x0C, 5, 0, 0xF2, 0x1B, 0, 0, 0]),
            (0, 1): OK + bytes(3),
            (0xA, 0x20): OK + struct.pack("<BHHIIB", 0x51, len(self.records), 0x1000, 1, 1, 2),
            (0xA, 0x22): OK + b"\x01\x00",
            (4, 0x27): bytes(8), (4, 0x25): bytes(3),
            (4, 0x29): OK + b"\xc0" + bytes(4), (4, 0x2B): OK + b"\xc0" + bytes(4),
        }
        if (netfn, cmd) == (0xA, 0x23):
            return self.sdr(data)
        if (netfn, cmd) == (4, 0x2D):
            return self.reading(data[0])
        return fixed.get((netfn, cmd), INVALID)


def escape(message):
    out = bytearray()
    for byte in message:
        out += bytes([0xAA, byte | 0x10]) if byte in (0xA0, 0xA1, 0xAA) else bytes([byte])
    return bytes(out)


def serve(connection, bmc):
    """A message ends in 0xa0, a command of the machine's in 0xa1; 0xaa escapes."""
    connection.sendall(escape(bytes([0xFF, 1])) + b"\xa1" + bytes([5]) + b"\xa1")
    message, escaped = bytearray(), False
    while chunk := connection.recv(4096):
        for byte in chunk:
            if byte == 0xAA:
                escaped = True
            elif byte == 0xA1:
                message.clear()
            elif byte == 0xA0:
                if len(message) >= 4 and sum(message) & 0xFF == 0:
                    sequence, netfn_lun, cmd = message[:3]
                    reply = bmc.answer(netfn_lun >> 2, cmd, bytes(message[3:-1]))
                    if reply is not None:
                        reply = bytes([sequence, netfn_lun | 4, cmd]) + reply
                        reply += bytes([-sum(reply) & 0xFF])
                        connection.sendall(escape(reply) + b"\xa0")
                message.clear()
            else:
                message.append(byte & ~0x10 if escaped else byte)
                escaped = False


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    bmc = Bmc()
    while True:
        connection, _ = listener.accept()
        try:
            serve(connection, bmc)
        except OSError:
            pass
        connection.close()


main()
