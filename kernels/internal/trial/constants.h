// Written by constants.py.
#pragma once
#include "thread/ptx.cuh"
namespace six {
PIPPIN_HD constexpr uint32_t pi_a(int i) { constexpr uint32_t w[4] = {0x7d4f1128u, 0x8211bbebu, 0xeeb859fcu, 0x6f4d8248u}; return w[i]; }
PIPPIN_HD constexpr uint32_t pi_b(int i) { constexpr uint32_t w[2] = {0x94d213e3u, 0x89d32568u}; return w[i]; }
PIPPIN_HD constexpr uint32_t over_u(int i) { constexpr uint32_t w[5] = {0x45275504u, 0xc03fd959u, 0x94e63f40u, 0x29dcf4b4u, 0x9333bc05u}; return w[i]; }
PIPPIN_HD constexpr uint32_t over_v(int i) { constexpr uint32_t w[5] = {0xdbae71c5u, 0xb1f82cf5u, 0xb64748cbu, 0x00000000u, 0x00000000u}; return w[i]; }
PIPPIN_HD constexpr uint32_t lambda(int i) { constexpr uint32_t w[8] = {0x36636f23u, 0xb8ca0b2du, 0xec2bc5e9u, 0xcc37a73fu, 0x3fd84104u, 0x048b6e19u, 0xe131a029u, 0x30644e72u}; return w[i]; }
PIPPIN_HD constexpr uint32_t beta_254(int i) { constexpr uint32_t w[8] = {0x13e80b9cu, 0x3350c88eu, 0xdb5e56b9u, 0x7dce557cu, 0xb615564au, 0x6001b4b8u, 0x020217e0u, 0x2682e617u}; return w[i]; }
PIPPIN_HD constexpr uint32_t beta_381(int i) { constexpr uint32_t w[12] = {0x798a64e8u, 0x30f1361bu, 0x7ece5a2au, 0xf3b8ddabu, 0xc61577f7u, 0x16a8ca3au, 0x74fd029bu, 0xc26a2ff8u, 0x60701c6eu, 0x3636b766u, 0x241b6160u, 0x051ba4abu}; return w[i]; }
struct radix { uint32_t m, windows, top, offset[4], over[5], half; };
constexpr radix radices[] = {
  {2048, 12, 48, {0x00000000u, 0x00000000u, 0x00000000u, 0x60000000u}, {0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u, 0x00000080u}, 64},
  {1536, 12, 1137, {0x00000000u, 0x00000000u, 0x00000000u, 0x600aee58u}, {0x5a272019u, 0xeaa123f0u, 0xad8b3e0bu, 0xa6ea4505u, 0x00000bd6u}, 1515},
  {3072, 11, 1705, {0x00000000u, 0x00000000u, 0x00000000u, 0x6003b910u}, {0x873ab026u, 0xdff1b5e8u, 0x8450dd11u, 0xfa5f6788u, 0x000011c1u}, 2272},
};
}  // namespace six
