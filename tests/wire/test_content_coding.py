"""Content decoding: every coding under every cut, bounded, and never an exception."""

from __future__ import annotations

import itertools
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.wire import content_coding
from mcp_wire.wire.content_coding import (
    EXPANSION_ALLOWANCE_BYTES,
    EXPANSION_RATIO,
    PIECE_BYTES,
    SLICE_BYTES,
    decoder_for,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1024 * 1024
EVENT = b'event: message\nid: 7\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n'


def with_zlib(wbits: int) -> Callable[[Sequence[bytes]], list[bytes]]:
    def encode(parts: Sequence[bytes]) -> list[bytes]:
        compressor = zlib.compressobj(wbits=wbits)
        flushed = [compressor.compress(part) + compressor.flush(zlib.Z_SYNC_FLUSH) for part in parts]
        return [*flushed, compressor.flush()]

    return encode


def with_brotli(parts: Sequence[bytes]) -> list[bytes]:
    compressor = brotli.Compressor(quality=3)
    return [*(compressor.process(part) + compressor.flush() for part in parts), compressor.finish()]


def with_zstd(parts: Sequence[bytes]) -> list[bytes]:
    compressor = zstd.ZstdCompressor()
    return [*(compressor.compress(part, zstd.ZstdCompressor.FLUSH_BLOCK) for part in parts), compressor.flush()]


def with_members(encode: Callable[[Sequence[bytes]], list[bytes]]) -> Callable[[Sequence[bytes]], list[bytes]]:
    """Each part in a member or frame of its own."""
    return lambda parts: [*(b"".join(encode([part])) for part in parts), b""]


gzip, deflate, bare_deflate = with_zlib(31), with_zlib(15), with_zlib(-15)

# name, Content-Encoding, encoder: parts to one flushed piece a part, and the end
CODINGS: list[tuple[str, str, Callable[[Sequence[bytes]], list[bytes]]]] = [
    ("gzip", "gzip", gzip),
    ("x-gzip", "x-gzip", gzip),
    ("gzip members", "gzip", with_members(gzip)),
    ("deflate", "deflate", deflate),
    ("bare deflate", "deflate", bare_deflate),
    ("br", "br", with_brotli),
    ("zstd", "zstd", with_zstd),
    ("zstd frames", "zstd", with_members(with_zstd)),
    ("deflate, gzip", "deflate, gzip", lambda parts: gzip(deflate(parts))),
    ("gzip, br", "gzip, br", lambda parts: with_brotli(gzip(parts))),
    ("zstd, gzip, br", "zstd,gzip ,\tbr", lambda parts: with_brotli(gzip(with_zstd(parts)))),
]
codings = pytest.mark.parametrize(
    ("content_encoding", "encode"), [row[1:] for row in CODINGS], ids=[row[0] for row in CODINGS]
)
SINGLE = [row for row in CODINGS if "," not in row[0]]
single_codings = pytest.mark.parametrize(
    ("content_encoding", "encode"), [row[1:] for row in SINGLE], ids=[row[0] for row in SINGLE]
)


def bytewise(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def decode(content_encoding: str | None, chunks: Sequence[bytes]) -> tuple[bytes, str | None, bool]:
    """What comes out, `failed`, `truncated`."""
    decoder = decoder_for(content_encoding)
    output = b"".join([decoder.feed(chunk) for chunk in chunks])
    decoder.end()
    return output, decoder.failed, decoder.truncated


# --- sound streams ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content_encoding", [None, "", "identity", "Identity , ", ",,"])
def test_identity_hands_the_bytes_through(content_encoding: str | None) -> None:
    decoder = decoder_for(content_encoding)
    chunk = b"\x1f\x8b\xff" * 10_000
    assert decoder.codings == ()
    assert decoder.feed(chunk) is chunk
    assert [list(decoder.pieces(chunk)), list(decoder.pieces(b""))] == [[chunk], []]
    decoder.end()
    assert (decoder.failed, decoder.truncated) == (None, False)


@pytest.mark.parametrize(
    ("content_encoding", "names"),
    [
        ("gzip", ("gzip",)),
        ("X-GZip", ("gzip",)),
        (" GZIP , br", ("gzip", "br")),
        ("identity, zstd", ("zstd",)),
        ("deflate,", ("deflate",)),
    ],
)
def test_codings_are_told_in_the_order_of_their_application(content_encoding: str, names: tuple[str, ...]) -> None:
    assert decoder_for(content_encoding).codings == names


@codings
def test_each_chunk_gives_what_it_completes(
    content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]]
) -> None:
    parts = [EVENT + bytes([i]) * i for i in range(50)]
    decoder = decoder_for(content_encoding)
    *flushed, end = encode(parts)
    outputs = [decoder.feed(chunk) for chunk in flushed]
    outermost_flushes = "," not in content_encoding
    if outermost_flushes:
        assert outputs[: len(parts)] == parts
    assert b"".join(outputs) + decoder.feed(end) == b"".join(parts)
    assert (decoder.feed(b""), decoder.failed) == (b"", None)
    decoder.end()
    assert decoder.truncated is False


@codings
@given(data=st.data())
def test_what_comes_out_does_not_depend_on_the_cut(
    content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]], data: st.DataObject
) -> None:
    parts = data.draw(st.lists(st.binary(max_size=60) | st.just(EVENT * 3), max_size=5))
    coded = b"".join(encode(parts))
    places = data.draw(st.lists(st.integers(min_value=0, max_value=400), max_size=8))
    expected = (b"".join(parts), None, False)
    assert decode(content_encoding, [coded]) == expected
    assert decode(content_encoding, cut(coded, places)) == expected
    assert decode(content_encoding, bytewise(coded)) == expected


@codings
def test_a_large_body(content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]]) -> None:
    body = b"".join(b"data: %d %d\n\n" % (i, i * i) for i in range(40_000))
    coded = b"".join(encode([body[:300_000], body[300_000:]]))
    assert decode(content_encoding, [coded]) == (body, None, False)
    assert decode(content_encoding, [coded[i : i + 1000] for i in range(0, len(coded), 1000)]) == (body, None, False)


def test_more_output_than_one_piece_waits_behind_all_input() -> None:
    """zlib hides output behind a piece that is exactly full, brotli behind pieces of any size."""
    for size in (32752, 32753, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 8 * MIB):
        body = bytes(size)
        for _, content_encoding, encode in SINGLE:
            flushed = encode([body])[0]
            assert decoder_for(content_encoding).feed(flushed) == body, (content_encoding, size)


def test_output_that_waits_behind_a_full_piece_needs_no_further_input() -> None:
    for size in range(PIECE_BYTES, PIECE_BYTES + 300, 50):
        flushed = gzip([bytes(size)])[0]
        for end in range(len(flushed) - 12, len(flushed)):
            whole = decode("gzip", [flushed[:end]])
            assert whole == decode("gzip", bytewise(flushed[:end])), (size, end)


def test_bare_deflate_that_begins_almost_like_zlib() -> None:
    """The padding of a stored block is free, and may make its first byte that of a zlib header."""
    stored = b"\x08" + (5).to_bytes(2, "little") + (0xFFFF - 5).to_bytes(2, "little") + b"hello"
    last = b"\x03\x00"
    for chunks in ([stored + last], bytewise(stored + last)):
        assert decode("deflate", chunks) == (b"hello", None, False)


def test_pieces_are_small_whatever_one_chunk_holds() -> None:
    for _, content_encoding, encode in SINGLE:
        sizes = [len(piece) for piece in decoder_for(content_encoding).pieces(b"".join(encode([bytes(8 * MIB)])))]
        assert sum(sizes) == 8 * MIB
        assert max(sizes) <= 2 * PIECE_BYTES


def test_zero_bytes_behind_a_gzip_member_are_padding() -> None:
    member = b"".join(gzip([b"a"]))
    assert decode("gzip", bytewise(member + bytes(600) + member + bytes(3))) == (b"aa", None, False)


def test_skippable_zstd_frames_are_skipped() -> None:
    skippable = b"\x5a\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    frame = zstd.compress(b"x")
    assert decode("zstd", bytewise(skippable + frame + skippable + frame)) == (b"xx", None, False)


# --- cut short --------------------------------------------------------------------------------------------------------


@codings
def test_an_empty_body_lacks_nothing(content_encoding: str, encode: Any) -> None:
    assert decode(content_encoding, []) == decode(content_encoding, [b""]) == (b"", None, False)


@single_codings
def test_a_stream_that_is_cut_gives_what_came_before(
    content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]]
) -> None:
    first, second, end = encode([EVENT, EVENT])
    assert decode(content_encoding, [first, second[:-1]])[0].startswith(EVENT)
    output, failed, truncated = decode(content_encoding, [first, second, end[:-1]])
    assert (output, failed) == (EVENT + EVENT, None)
    assert truncated is bool(end)
    assert decode(content_encoding, [first[:1]]) == (b"", None, True)


# --- what cannot be decoded -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_encoding", "reason"),
    [
        ("compress", "unknown content coding"),
        ("gzip, s3cret", "unknown content coding"),
        ("gzip;q=1", "unknown content coding"),
        ("gzip br", "unknown content coding"),
        ("\0", "unknown content coding"),
        ("gzip" + ",gzip" * 4, "more than 4 content codings"),
        ("gzip" + ",gzip" * 100_000, "more than 4 content codings"),
    ],
)
def test_codings_that_are_not_undone(content_encoding: str, reason: str) -> None:
    decoder = decoder_for(content_encoding)
    assert (decoder.failed, decoder.codings) == (reason, ())
    assert (decoder.feed(b"data"), list(decoder.pieces(b"data"))) == (b"", [])
    decoder.end()
    assert decoder.truncated is False


@pytest.mark.parametrize(
    ("content_encoding", "reason"),
    [
        ("gzip", "malformed gzip data"),
        ("deflate", "malformed deflate data"),
        ("br", "malformed br data, or data behind its end"),
        ("zstd", "malformed zstd data, or a window above 8 MiB"),
        ("br, gzip", "malformed gzip data"),
    ],
)
def test_plain_text_is_not_coded(content_encoding: str, reason: str) -> None:
    canary = b"}canary-5f1e: a secret\n\n" * 10
    for chunks in ([canary], bytewise(canary)):
        assert decode(content_encoding, chunks) == (b"", reason, False)


@pytest.mark.parametrize(
    ("content_encoding", "coded", "reason"),
    [
        ("gzip", b"".join(gzip([EVENT])) + b"\0junk", "malformed gzip data"),
        ("deflate", b"".join(deflate([EVENT])) + b"junk", "data behind the end of the deflate stream"),
        ("deflate", b"".join(bare_deflate([EVENT])) + b"\0", "data behind the end of the deflate stream"),
        ("gzip", b"".join(gzip([EVENT]))[:-8] + b"\0" * 8, "malformed gzip data"),
    ],
)
def test_what_was_sound_comes_out_before_the_fault(content_encoding: str, coded: bytes, reason: str) -> None:
    for chunks in ([coded], bytewise(coded), cut(coded, [5, 40, 60])):
        assert decode(content_encoding, chunks) == (EVENT, reason, False)


@pytest.mark.parametrize(
    ("content_encoding", "junk", "reason"),
    [
        ("br", b"junk", "malformed br data, or data behind its end"),
        ("zstd", b"junk", "malformed zstd data, or a window above 8 MiB"),
    ],
)
def test_brotli_and_zstd_may_take_the_output_of_the_faulty_call_along(
    content_encoding: str, junk: bytes, reason: str
) -> None:
    encode = {"br": with_brotli, "zstd": with_zstd}[content_encoding]
    sound = encode([EVENT])
    assert decode(content_encoding, [*sound, junk]) == (EVENT, reason, False)
    output, failed, _ = decode(content_encoding, [b"".join(sound) + junk])
    assert (EVENT.startswith(output), failed) == (True, reason)


def test_a_zstd_window_above_8_mib_is_refused() -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 24, zstd.CompressionParameter.content_size_flag: 0}
    compressor = zstd.ZstdCompressor(options=options)
    coded = compressor.compress(bytes(MIB)) + compressor.flush()
    assert decode("zstd", [coded]) == (b"", "malformed zstd data, or a window above 8 MiB", False)


@codings
@given(data=st.data())
def test_no_bytes_make_it_raise(
    content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]], data: st.DataObject
) -> None:
    coded = bytearray(b"".join(encode([EVENT, EVENT * 2])))
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 255)), max_size=4)):
        coded[place % len(coded)] = value
    coded += data.draw(st.binary(max_size=20))
    places = data.draw(st.lists(st.integers(min_value=0, max_value=400), max_size=8))
    decoder = decoder_for(content_encoding)
    for chunk in cut(bytes(coded), places):
        output = decoder.feed(chunk)
        assert len(output) <= EXPANSION_ALLOWANCE_BYTES + EXPANSION_RATIO * SLICE_BYTES
    if decoder.failed is not None:
        assert "\n" not in decoder.failed
        assert decoder.feed(b"".join(encode([EVENT]))) == b""
    decoder.end()


@pytest.mark.parametrize(
    ("content_encoding", "encode"), [("gzip", gzip), ("deflate", deflate), ("deflate", bare_deflate)]
)
@given(data=st.data())
def test_zlib_faults_do_not_depend_on_the_cut(
    content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]], data: st.DataObject
) -> None:
    coded = bytearray(b"".join(encode([EVENT, EVENT * 2, b"x" * 300])))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(2, 999), st.integers(0, 255)), min_size=1, max_size=4)
    ):
        coded[place % len(coded)] = value
    places = data.draw(st.lists(st.integers(min_value=0, max_value=400), max_size=8))
    whole = decode(content_encoding, [bytes(coded)])
    assert decode(content_encoding, bytewise(bytes(coded))) == whole
    assert decode(content_encoding, cut(bytes(coded), places)) == whole


# --- bombs ------------------------------------------------------------------------------------------------------------

BOMB = f"decoded size exceeds {EXPANSION_ALLOWANCE_BYTES // MIB} MiB and {EXPANSION_RATIO} times the coded size"


def bomb(encode_block: Callable[[bytes], bytes], finish: Callable[[], bytes], mebibytes: int) -> bytes:
    zeros = bytes(MIB)
    return b"".join([encode_block(zeros) for _ in range(mebibytes)]) + finish()


def gzip_bomb(mebibytes: int) -> bytes:
    """In members of 64 MiB, which take less time to make."""
    compressor = zlib.compressobj(9, wbits=31)
    return bomb(compressor.compress, compressor.flush, 64) * (mebibytes // 64)


def brotli_bomb(mebibytes: int) -> bytes:
    compressor = brotli.Compressor(quality=5)
    return bomb(compressor.process, compressor.finish, mebibytes)


def zstd_bomb(mebibytes: int) -> bytes:
    compressor = zstd.ZstdCompressor()
    return bomb(compressor.compress, compressor.flush, mebibytes)


@pytest.mark.parametrize(
    ("content_encoding", "make"),
    [
        ("gzip", lambda: gzip_bomb(1024)),
        ("br", lambda: brotli_bomb(256)),
        ("zstd", lambda: zstd_bomb(256)),
        ("br, gzip", lambda: b"".join(gzip([brotli_bomb(256)]))),
        ("gzip, gzip", lambda: b"".join(gzip([gzip_bomb(1024)]))),
    ],
    ids=["gzip", "br", "zstd", "br, gzip", "gzip, gzip"],
)
def test_a_bomb_stops_at_the_bound(content_encoding: str, make: Callable[[], bytes]) -> None:
    coded = make()
    produced = []
    for chunk_bytes in (len(coded), 65536, 997, 1):
        decoder = decoder_for(content_encoding)
        total = fed = 0
        tracemalloc.start()
        for position in range(0, len(coded), chunk_bytes):
            fed = position + len(coded[position : position + chunk_bytes])
            total += sum(map(len, decoder.pieces(coded[position : position + chunk_bytes])))
            if decoder.failed:
                break
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert decoder.failed == BOMB
        assert total <= EXPANSION_ALLOWANCE_BYTES + EXPANSION_RATIO * (fed + SLICE_BYTES)
        assert total <= 2.1 * EXPANSION_ALLOWANCE_BYTES
        assert peak < 2 * MIB
        assert list(decoder.pieces(coded[:100])) == []
        produced.append(total)
    assert len(set(produced)) == 1


@pytest.mark.parametrize(
    ("content_encoding", "encode"), [("gzip", gzip), ("deflate", bare_deflate), ("zstd", with_zstd)]
)
@given(parts=st.lists(st.integers(0, 400).map(bytes) | st.binary(max_size=60), max_size=8), data=st.data())
def test_what_is_a_bomb_does_not_depend_on_the_cut(
    content_encoding: str,
    encode: Callable[[Sequence[bytes]], list[bytes]],
    parts: list[bytes],
    data: st.DataObject,
) -> None:
    coded = b"".join(encode(parts))
    places = data.draw(st.lists(st.integers(min_value=0, max_value=400), max_size=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_coding, "EXPANSION_ALLOWANCE_BYTES", 100)
        patch.setattr(content_coding, "EXPANSION_RATIO", 2)
        patch.setattr(content_coding, "SLICE_BYTES", 8)
        whole = decode(content_encoding, [coded])
        assert whole[1] in (None, BOMB)
        assert decode(content_encoding, bytewise(coded)) == whole
        assert decode(content_encoding, cut(coded, places)) == whole


@single_codings
def test_a_long_stream_of_much_the_same_events_is_no_bomb(
    content_encoding: str, encode: Callable[[Sequence[bytes]], list[bytes]]
) -> None:
    status = b"".join(b'"worker-%d":{"state":"running","load":%d},' % (i, i * i % 97) for i in range(120))
    events = [
        b'data: {"progress":%d,%s}\n\n' % (i, status) for i in range(2 * EXPANSION_ALLOWANCE_BYTES // len(status))
    ]
    decoder = decoder_for(content_encoding)
    produced = sum(len(decoder.feed(chunk)) for chunk in encode(events))
    assert (produced, decoder.failed) == (sum(map(len, events)), None)


def test_the_allowance_is_for_one_large_message() -> None:
    body = b'data: "' + b"A" * (EXPANSION_ALLOWANCE_BYTES - 10) + b'"\n\n'
    for _, content_encoding, encode in SINGLE:
        decoder = decoder_for(content_encoding)
        assert sum(map(len, decoder.pieces(b"".join(encode([body]))))) == len(body)
        assert decoder.failed is None


def test_ever_new_tiny_frames_cost_no_more_than_their_bytes() -> None:
    frames = zstd.compress(b"") * 20_000
    members = b"".join(gzip([])) * 5_000
    assert decode("zstd", [frames]) == (b"", None, False)
    assert decode("gzip", [members]) == (b"", None, False)
