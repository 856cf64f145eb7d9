# SPDX-License-Identifier: Apache-2.0
"""Remote write as a client sends it, for what no agent can be made to send: samples of other times, and
of more devices than there is room for. Protocol 1.0: a protobuf message (prompb.WriteRequest: timeseries =
1; TimeSeries: labels = 1, samples = 2; Label: name = 1, value = 2; Sample: value = 1, timestamp = 2) in a
snappy block. Snappy allows text that is only copied, which is all that is done here.
"""

import struct

HEADERS = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0"}


def varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, data):
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def encoded_labels(labels):
    """The labels of a series, sorted as receivers want them; worth keeping, as they never change."""
    return b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in sorted(labels.items()))


def series(labels, samples):
    """One TimeSeries of encoded labels and [(milliseconds, value)]."""
    body = labels + b"".join(field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(at)) for at, value in samples)
    return field(1, body)


def compressed(message):
    """A snappy block of literals."""
    out = [varint(len(message))]
    for at in range(0, len(message), 1 << 16):
        piece = message[at:at + (1 << 16)]
        out.append(b"\xf4" + struct.pack("<H", len(piece) - 1))  # literal, its length less one in two bytes
        out.append(piece)
    return b"".join(out)


def push(server, wanted):
    """Sends [(labels, [(seconds, value)])]; the status and what was said to it."""
    message = b"".join(series(encoded_labels(labels), [(round(at * 1000), value) for at, value in samples])
                       for labels, samples in wanted)
    return server.request("POST", "/api/v1/write", compressed(message), HEADERS)
