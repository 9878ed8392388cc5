"""Feeds host with scalars and holds its digits against integers."""
import random, subprocess
r = 21888242871839275222246405745257275088548364400416034343698204186575808495617
from constants import lam_r, edges, vertex
ks = (edges + vertex + [random.randrange(r) for _ in range(2500)])
raw = [k * 2**256 % r for k in ks]
out = subprocess.run(["./host"], input="".join("%064x\n" % x for x in raw), capture_output=True, text=True, check=True).stdout
got, block, last = {}, 0, None
for l in out.splitlines():
    m, k, row, minus, power, bucket = map(int, l.split())
    if last and m != last: block += 1
    last = m
    got.setdefault((block, m), {}).setdefault(k, []).append((row, minus, power, bucket))
assert list(m for _, m in got) == [2048, 1536, 3072, 2048]
for (_, m), by in got.items():
    bits = 10 if m <= 2048 else 11
    assert max(by) < len(ks)
    for i, k in enumerate(ks):
        x = y = 0
        rows = set()
        for row, minus, power, bucket in by.get(i, []):
            assert row not in rows; rows.add(row)
            a, b = (bucket & ((1 << bits) - 1)) + 1, bucket >> bits
            assert 2 * a + b <= m and a + 2 * b <= m
            z = (a + b, b)
            for _ in range(power): z = (-z[1], z[0] - z[1])
            s = -1 if minus else 1
            x += s * z[0] * m**row; y += s * z[1] * m**row
        assert (x + y * lam_r - k) % r == 0, (m, i, k)
print("host: digits of", len(ks), "scalars by", len(got), "radices are right")
