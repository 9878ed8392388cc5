package main

import "testing"

// spills are what kernels may keep in memory because registers ran out, in bytes
// stored and loaded a thread, on the architectures in the repository. A number
// that a build lowered is lowered here too.
var spills = []struct {
	why     string
	kernels []spill
}{
	{"registers are bounded so that two blocks share a multiprocessor, which is worth more than a few words kept in memory", []spill{
		{"pippin_rest_scatter", 80, 12, 12},
		{"pippin_rest_scatter", 90, 8, 8},
	}},
	{"a point sum is 96 registers, the point to add 48, a product's operands and columns 97: more than the 255 there are", []spill{
		{"pippin_bw6_761_g1_accumulate", 80, 316, 500},
		{"pippin_bw6_761_g1_accumulate", 90, 316, 500},
		{"pippin_bw6_761_g1_fold", 80, 320, 328},
		{"pippin_bw6_761_g1_fold", 90, 272, 280},
		{"pippin_bw6_761_g1_fold_finish", 80, 304, 348},
		{"pippin_bw6_761_g1_fold_finish", 90, 376, 464},
		{"pippin_bw6_761_g1_multiples", 80, 64, 56},
		{"pippin_bw6_761_g1_multiples", 90, 16, 24},
		{"pippin_bw6_761_g1_planes", 80, 252, 256},
		{"pippin_bw6_761_g1_planes", 90, 292, 292},
		{"pippin_bw6_761_g1_reduce", 80, 284, 288},
		{"pippin_bw6_761_g1_reduce", 90, 268, 264},
	}},
	{"a point sum over Fp2 is 96 registers and the point to add 48: more than the 255 there are with a product's columns", []spill{
		{"pippin_bls12_377_g2_accumulate", 80, 68, 60},
		{"pippin_bls12_377_g2_accumulate", 90, 64, 56},
		{"pippin_bls12_381_g2_accumulate", 80, 36, 28},
		{"pippin_bls12_381_g2_accumulate", 90, 52, 44},
		{"pippin_bls12_377_g2_planes", 80, 44, 44},
		{"pippin_bls12_377_g2_planes", 90, 4, 4},
		{"pippin_bls12_381_g2_planes", 80, 36, 36},
		{"pippin_bls12_381_g2_planes", 90, 60, 60},
	}},
	{"four elements of 24 words and the products before each are 168 registers, a fifth is in calls; once for hundreds of additions", []spill{
		{"pippin_bls12_377_g2_pairs_invert", 80, 116, 300},
		{"pippin_bls12_377_g2_pairs_invert", 90, 116, 300},
		{"pippin_bls12_381_g2_pairs_invert", 80, 112, 288},
		{"pippin_bls12_381_g2_pairs_invert", 90, 112, 288},
		{"pippin_bw6_761_g1_pairs_invert", 80, 424, 472},
		{"pippin_bw6_761_g1_pairs_invert", 90, 424, 472},
	}},
	{"a Jacobian point over Fp2 is 72 registers, a doubling's intermediates as many again; each is stored once a doubling", []spill{
		{"pippin_bls12_377_g2_multiples", 80, 88, 176},
		{"pippin_bls12_377_g2_multiples", 90, 156, 280},
		{"pippin_bls12_381_g2_multiples", 80, 172, 304},
		{"pippin_bls12_381_g2_multiples", 90, 252, 408},
	}},
	{"registers are bounded so that three or four blocks share a multiprocessor; a few words for 64 or 96 of elements are cheaper than one less", []spill{
		{"pippin_bls12_377_8_up", 90, 4, 16},
		{"pippin_bls12_381_8_up", 80, 104, 132},
		{"pippin_bls12_381_8_up", 90, 96, 96},
		{"pippin_bn254_8_down", 80, 224, 112},
		{"pippin_bn254_8_up", 90, 4, 16},
		{"pippin_bw6_761_8_down", 80, 16, 20},
		{"pippin_bw6_761_8_down", 90, 4, 4},
		{"pippin_bw6_761_8_up", 80, 84, 60},
		{"pippin_bw6_761_8_up", 90, 188, 132},
	}},
	{"a product of GF(2^2048) and its middle half are 192 registers, a leaf's operands and product 64: all that there are, and addresses", []spill{
		{"pippin_1024_binary_inverse", 90, 16, 20},
		{"pippin_2048_binary_inverse", 80, 124, 144},
		{"pippin_2048_binary_inverse", 90, 116, 136},
		{"pippin_2048_binary_mul", 80, 120, 128},
		{"pippin_2048_binary_mul", 90, 232, 244},
	}},
	{"20 samples of a number, of p and of its columns are 120 registers, a square's columns and those exchanged 80 more; kept in memory between products", []spill{
		{"pippin_1024_1_power", 80, 32, 48},
		{"pippin_1024_1_power", 90, 16, 20},
		{"pippin_1536_2_power", 80, 52, 88},
		{"pippin_1536_2_power", 90, 64, 128},
		{"pippin_2048_2_power", 80, 376, 472},
		{"pippin_2048_2_power", 90, 344, 508},
		{"pippin_4096_4_power", 80, 160, 320},
		{"pippin_4096_4_power", 90, 80, 160},
	}},
	{"a few words over calls, or in one warp's inversion, in code that is not hot", []spill{
		{"pippin_bls12_381_g2_fold", 90, 24, 24},
		{"pippin_bn254_g2_fold_finish", 90, 12, 12},
		{"pippin_bn254_g2_reduce", 80, 8, 8},
		{"pippin_bn254_g2_reduce", 90, 8, 8},
		{"pippin_bw6_761_invert", 90, 20, 20},
		{"pippin_wide_power", 80, 24, 16},
		{"pippin_wide_power", 90, 28, 20},
		{"pippin_wide_power_begin", 90, 12, 16},
		{"pippin_wide_residue", 80, 122, 40},
	}},
}

type spill struct {
	symbol        string
	arch          int
	stores, loads int
}

// TestSpills fails for a kernel that keeps more in memory than it may, or less:
// the numbers stay true.
func TestSpills(t *testing.T) {
	type kernelOn struct {
		symbol string
		arch   int
	}
	may := make(map[kernelOn]spill)
	for _, s := range spills {
		for _, k := range s.kernels {
			may[kernelOn{k.symbol, k.arch}] = k
		}
	}
	for _, arch := range committed() {
		m, err := readManifest(root, arch)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range m.Units {
			for _, k := range u.Kernels {
				if k.Registers == 0 || k.Instructions == 0 {
					t.Errorf("%s on sm_%d: no report of the compiler", k.Symbol, arch)
				}
				allowed := may[kernelOn{k.Symbol, arch}]
				delete(may, kernelOn{k.Symbol, arch})
				if k.SpillStores != allowed.stores || k.SpillLoads != allowed.loads {
					t.Errorf("%s on sm_%d spills %d bytes stored and %d loaded; %d and %d are what it may, and what spills_test.go says",
						k.Symbol, arch, k.SpillStores, k.SpillLoads, allowed.stores, allowed.loads)
				}
			}
		}
	}
	for k := range may {
		t.Errorf("spills_test.go allows %s on sm_%d to spill, which is not there", k.symbol, k.arch)
	}
}
