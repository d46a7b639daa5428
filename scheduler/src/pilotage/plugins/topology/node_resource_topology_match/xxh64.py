"""The hash function XXH64 used by agents, in pure Python; fast enough for their short texts."""

from struct import unpack_from
from typing import Final

FULL: Final = (1 << 64) - 1
P1: Final = 0x9E3779B185EBCA87
P2: Final = 0xC2B2AE3D27D4EB4F
P3: Final = 0x165667B19E3779F9
P4: Final = 0x85EBCA77C2B2AE63
P5: Final = 0x27D4EB2F165667C5
STRIPE: Final = 32  # bytes for four lanes


def xxh64(data: bytes, seed: int = 0) -> int:
    """Return the hash of some bytes as a number of 64 bits."""
    size, place = len(data), len(data) - len(data) % STRIPE
    state = _lanes(data, place, seed) if place else seed + P5
    state = (state + size) & FULL
    while place + 8 <= size:
        state = _rotated(state ^ _rounded(0, unpack_from("<Q", data, place)[0]), 27) * P1 + P4 & FULL
        place += 8
    if place + 4 <= size:
        state = _rotated(state ^ (unpack_from("<I", data, place)[0] * P1 & FULL), 23) * P2 + P3 & FULL
        place += 4
    for byte in data[place:]:
        state = _rotated(state ^ (byte * P5 & FULL), 11) * P1 & FULL
    return _avalanche(state)


def _lanes(data: bytes, end: int, seed: int) -> int:
    lanes = [(seed + P1 + P2) & FULL, (seed + P2) & FULL, seed & FULL, (seed - P1) & FULL]
    for place in range(0, end, STRIPE):
        words = unpack_from("<4Q", data, place)
        lanes = [_rounded(lane, word) for lane, word in zip(lanes, words, strict=True)]
    state = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & FULL
    for lane in lanes:
        state = ((state ^ _rounded(0, lane)) * P1 + P4) & FULL
    return state


def _rounded(lane: int, word: int) -> int:
    return _rotated((lane + word * P2) & FULL, 31) * P1 & FULL


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (64 - bits)) & FULL


def _avalanche(state: int) -> int:
    state = (state ^ state >> 33) * P2 & FULL
    state = (state ^ state >> 29) * P3 & FULL
    return state ^ state >> 32
