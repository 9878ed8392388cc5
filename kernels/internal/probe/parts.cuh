// The parts of the probe: each is one file, so that they compile side by side.
// PIPPIN_PROBE_SHORT asks for every operation on a few arguments alone; a build
// of something smaller defines PIPPIN_PROBE_PARTS itself.
#pragma once
#if defined(PIPPIN_PROBE_SHORT)
#define PIPPIN_PROBE_PARTS \
  PART(part_mp) PART(part_mont) PART(part_field) PART(part_bn254) PART(part_bls12_377)
#elif !defined(PIPPIN_PROBE_PARTS)
#define PIPPIN_PROBE_PARTS                                             \
  PART(part_mp) PART(part_mont) PART(part_field) PART(part_bn254)      \
  PART(part_bls12_377) PART(part_bls12_381) PART(part_bw6_761)
#endif
