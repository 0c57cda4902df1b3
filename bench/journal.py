# SPDX-License-Identifier: GPL-2.0-or-later
"""As much of a step's journal (user/journal/journal.h) as the bench needs."""

import struct

SERIES, TABLE, ROW, STATE = 2, 3, 4, 5
HEADER = 16


def _unpacked(words):
    """user/journal/zero_suppress.h: the words with the zeros between them."""
    left, at, out = words[0] // 8, 1, []
    while left > 0:
        bits, n = words[at], min(64, left)
        at, left = at + 1, left - n
        for i in range(n):
            out.append(words[at] if bits >> i & 1 else 0)
            at += bits >> i & 1
    return struct.pack("<%dQ" % len(out), *out)


def _records(content):
    pos = 0
    while pos + 8 <= len(content):
        kind, _, length = struct.unpack_from("<HHI", content, pos)
        yield kind, content[pos + 8:pos + 8 + length]
        pos += 8 + (length + 7) // 8 * 8


def frames(data):
    """(from, to, [(type, payload)]) of every whole frame."""
    at = HEADER
    while at + 8 <= len(data):
        length = struct.unpack_from("<I", data, at)[0]
        packed, length = length >> 31, length & 0x7fffffff
        if not length:  # room that the journal has taken in advance
            return
        content = data[at + 8:at + 8 + length]
        if len(content) < length:
            return
        if packed:
            content = _unpacked(struct.unpack("<%dQ" % (length // 8), content))
        yield at, at + 8 + length, list(_records(content))
        at += 8 + length


class Rows:
    """Rows so far, by the series' name."""

    def __init__(self, data):
        self.series, self.tables, self.rows = {}, {}, {}
        for _, _, records in frames(data):
            for kind, payload in records:
                self._take(kind, payload)

    def _take(self, kind, payload):
        if kind == SERIES:
            number = struct.unpack_from("<H", payload)[0]
            self.series[number] = payload[8:].split(b"\0")[0].decode()
        elif kind == TABLE:
            table, series = struct.unpack_from("<IH", payload)
            self.tables[table] = self.series[series]
        elif kind == ROW:
            table = struct.unpack_from("<I", payload)[0]
            # TimeNS is the last column of every table
            self.rows.setdefault(self.tables[table], []).append(
                struct.unpack_from("<Q", payload, len(payload) - 8)[0])

    def of(self, series):
        """TimeNS of the rows of one series, all its tables."""
        return self.rows.get(series, [])


def lengthened(data, rows):
    """The journal with its samples' frames repeated until the step has that many rows; what it has
    more is cut."""
    out, again, have = [data[:HEADER]], [], 0
    for at, end, records in frames(data):
        kinds = {kind for kind, _ in records}
        out.append(data[at:end])
        have += ROW in kinds
        if ROW in kinds and kinds <= {ROW, STATE}:
            again.append(data[at:end])
        if have >= rows:
            break
    while again and have < rows:
        out.append(again[have % len(again)])
        have += 1
    return b"".join(out)
