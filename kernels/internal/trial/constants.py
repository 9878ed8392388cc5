"""Writes constants.h: of BN254's scalars modulo the ideal of norm r, of the radices, and of both curves' x.

The integer steps that the kernels take are run here on random and extreme scalars first.
"""
import random

r = 21888242871839275222246405745257275088548364400416034343698204186575808495617
p254 = 21888242871839275222246405745257275088696311157297823662689037894645226208583
p381 = 4002409555221667393417789825735904156556882819939007885332058136124031650490837864442687629129015664037894272559787

def root3(n):
    g = 2
    while pow(g, (n - 1) // 3, n) == 1: g += 1
    return pow(g, (n - 1) // 3, n)

def norm(z): return z[0] * z[0] - z[0] * z[1] + z[1] * z[1]
def near(a, b): return (2 * a + b) // (2 * b)
def short(u, v):
    dot2 = lambda s, t: 2 * s[0] * t[0] + 2 * s[1] * t[1] - s[0] * t[1] - s[1] * t[0]
    while True:
        if norm(u) > norm(v): u, v = v, u
        q = near(dot2(u, v), 2 * norm(u))
        if q == 0: return u
        v = (v[0] - q * u[0], v[1] - q * u[1])

# pi = a - b w of norm r with a > 0 and 0 < b < 2^64: two coordinates of k/pi are then positive.
for lam in (root3(r), pow(root3(r), 2, r)):
    z = short((r, 0), (-lam % r, 1))
    for _ in range(6):
        if z[0] > 0 and -2**64 < z[1] < 0: a, b, lam_r = z[0], -z[1], lam
        z = (z[0] - z[1], z[0])
assert (a - b * lam_r) % r == 0 and a * a + a * b + b * b == r

G = [near(t << 286, r) for t in (a + b, b)]  # of 2^158 2^128 t/r
assert G[0] < 2**160
MASK = 2**128 - 1
def corner(x, y, m):
    s, t, u = 2 * x - y, 2 * y - x, x + y
    far = u > m and s > 0 and t > 0
    return int(far or (s > m and t <= 0)), int(far or (t > m and s <= 0))

def signed(x): return x - 2**128 if x >> 127 else x
def split(k):
    u, v = ((k >> 96) * g >> 158 for g in G)   # 32 bits of fraction
    c = corner((u & 0xffffffff) >> 2, (v & 0xffffffff) >> 2, 1 << 30)
    q1, q2 = (u >> 32) + c[0], (v >> 32) + c[1]
    return signed((k - a * q1 - b * q2) & MASK), signed((b * (q1 - q2) - a * q2) & MASK)

def radix(m, windows):
    one = m ** (windows - 1)
    t = -(-(2**126 + 2**125) // one)           # m^(W-1) t is above either coordinate
    return dict(m=m, windows=windows, t=t, offset=t * one, over=near(2**256, one), half=2**127 // one)

def limbs(n): return 1 if n <= 2 else 2 if n <= 5 else 3 if n <= 7 else 4  # of a fraction with n digits to come, m < 2^12
def digits(z, of):
    m, W = of["m"], of["windows"]
    low = []
    for c in z:
        c += of["offset"]; assert 0 <= c < 2**128
        f = (c * of["over"] >> 128) + of["half"]
        top, f = f >> 128, f & MASK
        ds, have = [top - of["t"]], 4
        for n in range(W - 1, 0, -1):          # n digits to come
            L = limbs(n); f >>= 32 * (have - L); have = L
            f *= m; ds.insert(0, f >> 32 * L); f &= (1 << 32 * L) - 1
        low.append(ds)
    out, c1, c2 = [], 0, 0
    for i in range(W):
        x, y = low[0][i] + c1, low[1][i] + c2
        c1, c2 = corner(x, y, m) if i + 1 < W else (0, 0)
        out.append((x - c1 * m, y - c2 * m))
    return out

RADICES = [radix(2048, 12), radix(1536, 12), radix(3072, 11)]
h = lambda x, y: max(abs(2 * x - y), abs(2 * y - x), abs(x + y))
edges = [0, 1, 2, r - 1, r - 2, r // 2, lam_r, r - lam_r, r // 3, 2 * r // 3] + [2**i % r for i in range(254)]
vertex = [(i * a // 3 + j * b // 3 + (i * b // 3 + j * a // 3) * lam_r + e) % r for i in range(-2, 3) for j in range(-2, 3) for e in (-1, 0, 1)]
for k in edges + vertex + [random.randrange(r) for _ in range(20000)]:
    z = split(k)
    assert (z[0] + z[1] * lam_r - k) % r == 0 and max(map(abs, z)) < 2**126 + 2**125
    for of in RADICES:
        ds = digits(z, of)
        assert sum(x * of["m"]**i for i, (x, y) in enumerate(ds)) == z[0] and sum(y * of["m"]**i for i, (x, y) in enumerate(ds)) == z[1]
        assert all(h(*d) <= of["m"] for d in ds), (k, of["m"], [h(*d) for d in ds])

w = lambda x, n: "{" + ", ".join("0x%08xu" % ((x >> (32 * i)) & 0xffffffff) for i in range(n)) + "}"
fn = lambda name, x, n: "PIPPIN_HD constexpr uint32_t %s(int i) { constexpr uint32_t w[%d] = %s; return w[i]; }\n" % (name, n, w(x, n))
with open("constants.h", "w") as f:
    f.write("// Written by constants.py.\n#pragma once\n#include \"thread/ptx.cuh\"\nnamespace six {\n")
    for name, x, n in (("pi_a", a, 4), ("pi_b", b, 2), ("over_u", G[0], 5), ("over_v", G[1], 5), ("lambda", lam_r, 8),
                       ("beta_254", root3(p254) * 2**256 % p254, 8), ("beta_381", root3(p381) * 2**384 % p381, 12)):
        f.write(fn(name, x, n))
    f.write("struct radix { uint32_t m, windows, top, offset[4], over[5], half; };\nconstexpr radix radices[] = {\n")
    for o in RADICES: f.write("  {%d, %d, %d, %s, %s, %d},\n" % (o["m"], o["windows"], o["t"], w(o["offset"], 4), w(o["over"], 5), o["half"]))
    f.write("};\n}  // namespace six\n")
print("constants.h: splits and digits of", 20000 + len(edges) + len(vertex), "scalars are right")
