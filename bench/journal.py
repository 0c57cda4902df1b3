# SPDX-License-Identifier: GPL-2.0-only
"""As much of a step's journal (user/store/journal.h) as the bench needs."""

import struct
import zlib

SERIES, TABLE, ROW, STATE = 2, 3, 4, 5
HEADER = 16


def frames(data):
    """(from, to, [(type, payload)]) of every whole frame."""
    at = HEADER
    while at + 8 <= len(data):
        end = at + 8 + struct.unpack_from("<I", data, at)[0]
        if end > len(data):
            return
        records, pos = [], at + 8
        while pos + 8 <= end:
            kind, _, length = struct.unpack_from("<HHI", data, pos)
            records.append((kind, data[pos + 8:pos + 8 + length]))
            pos += 8 + (length + 7) // 8 * 8
        yield at, end, records
        at = end


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


def _frame(records):
    body = b"".join(struct.pack("<HHI", kind, 0, len(p)) + p + bytes(-len(p) % 8)
                    for kind, p in records)
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


def lengthened(data, rows):
    """The journal with what its samples wrote said again until the step has that many rows; what
    it has more is cut."""
    out, again, have = [data[:HEADER]], [], 0
    for at, end, records in frames(data):
        kinds = {kind for kind, _ in records}
        out.append(data[at:end])
        if ROW in kinds:
            have += 1
            again.append(_frame([r for r in records if r[0] in (ROW, STATE)]))
        if have >= rows:
            break
    while again and have < rows:
        out.append(again[have % len(again)])
        have += 1
    return b"".join(out)
