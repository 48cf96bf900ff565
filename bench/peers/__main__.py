"""`python -m bench.peers`: the peers alone, as a table with their remarks below it."""

import argparse
import sys

from bench.peers import PeerFigures, PeersError, measure_peers

_FULL, _QUICK = 10_000, 1_000

_HEADINGS = ("store", "append", "at the end", "load", "fork", "fork grew", "on disk", "journal")


def main() -> None:
    """Measures the peers and prints the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK:,} messages")
    messages = _QUICK if parser.parse_args().quick else _FULL
    try:
        peers = measure_peers(messages)
    except PeersError as error:
        sys.exit(str(error))
    rows = [_HEADINGS, *map(_row, peers)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print(f"{messages:,} messages of 500 bytes; a turn is two of them; times are medians\n")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    print()
    for peer in peers:
        print(f"{peer.name}: {peer.remark}.")


def _row(peer: PeerFigures) -> tuple[str, ...]:
    return (
        f"{peer.name} {peer.version}",
        f"{peer.append_p50_ms:,.2f} ms",
        f"{peer.append_last_p50_ms:,.2f} ms",
        f"{peer.load_ms:,.0f} ms",
        f"{peer.fork_ms:,.0f} ms",
        f"{peer.fork_bytes:,} B",
        f"{peer.disk_bytes:,} B",
        peer.durability,
    )


if __name__ == "__main__":
    main()
