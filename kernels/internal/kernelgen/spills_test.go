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
		{"pippin_bn254_g1_joins", 80, 4, 8},
	}},
	{"a point sum is 96 registers, the point to add 48, a product's operands and columns 97: more than the 255 there are", []spill{
		{"pippin_bw6_761_g1_accumulate", 80, 224, 408},
		{"pippin_bw6_761_g1_accumulate", 90, 224, 408},
		{"pippin_bw6_761_g1_fold", 80, 300, 472},
		{"pippin_bw6_761_g1_fold", 90, 296, 460},
		{"pippin_bw6_761_g1_joins", 80, 324, 352},
		{"pippin_bw6_761_g1_joins", 90, 332, 372},
		{"pippin_bw6_761_g1_planes", 80, 332, 504},
		{"pippin_bw6_761_g1_planes", 90, 316, 476},
		{"pippin_bw6_761_g1_reduce", 80, 252, 404},
		{"pippin_bw6_761_g1_reduce", 90, 276, 440},
	}},
	{"a point sum over Fp2 is 96 registers and the point to add 48, a product's operands and columns, " +
		"which is a call, 150: more than the 255 there are", []spill{
		{"pippin_bls12_377_g2_accumulate", 80, 420, 680},
		{"pippin_bls12_377_g2_accumulate", 90, 476, 780},
		{"pippin_bls12_381_g2_accumulate", 80, 484, 784},
		{"pippin_bls12_381_g2_accumulate", 90, 564, 892},
		{"pippin_bls12_377_g2_joins", 80, 728, 936},
		{"pippin_bls12_377_g2_joins", 90, 632, 816},
		{"pippin_bls12_381_g2_joins", 80, 788, 1008},
		{"pippin_bls12_381_g2_joins", 90, 592, 772},
		{"pippin_bls12_377_g2_planes", 80, 608, 852},
		{"pippin_bls12_377_g2_planes", 90, 512, 704},
		{"pippin_bls12_381_g2_planes", 80, 604, 840},
		{"pippin_bls12_381_g2_planes", 90, 528, 720},
		{"pippin_bls12_377_g2_pairs_back", 80, 168, 168},
		{"pippin_bls12_381_g2_pairs_back", 80, 48, 48},
		{"pippin_bls12_377_g2_fold", 80, 456, 640},
		{"pippin_bls12_377_g2_reduce", 80, 384, 572},
		{"pippin_bls12_381_g2_fold", 80, 428, 620},
		{"pippin_bls12_381_g2_reduce", 80, 364, 552},
		{"pippin_bls12_377_g2_pairs_back", 90, 76, 88},
		{"pippin_bls12_381_g2_pairs_back", 90, 56, 56},
		{"pippin_bls12_377_g2_fold", 90, 424, 608},
		{"pippin_bls12_377_g2_reduce", 90, 412, 600},
		{"pippin_bls12_381_g2_fold", 90, 440, 624},
		{"pippin_bls12_381_g2_reduce", 90, 412, 600},
	}},
	{"registers are bounded so that three blocks share a multiprocessor; a word or two of each coordinate is kept in memory, " +
		"once an addition of ten products", []spill{
		{"pippin_bls12_381_g1_direct", 80, 28, 20},
		{"pippin_bls12_381_g1_direct", 90, 144, 116},
	}},
	{"registers are bounded so that four blocks share a multiprocessor; an address or two is kept in memory", []spill{
		{"pippin_bls12_381_g1_units_affine_sums", 80, 4, 20},
		{"pippin_bls12_381_g1_units_affine_sums", 90, 16, 16},
		{"pippin_bls12_381_g1_affine_sums", 90, 12, 28},
	}},
	{"four elements of 24 words and the products before each are 168 registers, a fifth is in calls; once for hundreds of additions", []spill{
		{"pippin_bls12_377_g2_pairs_invert", 80, 216, 316},
		{"pippin_bls12_377_g2_pairs_invert", 90, 216, 316},
		{"pippin_bls12_381_g2_pairs_invert", 80, 204, 308},
		{"pippin_bls12_381_g2_pairs_invert", 90, 208, 316},
		{"pippin_bw6_761_g1_pairs_invert", 80, 212, 264},
		{"pippin_bw6_761_g1_pairs_invert", 90, 208, 256},
	}},
	{"a Jacobian point over Fp2 is 72 registers, a doubling's intermediates as many again; each is stored once a doubling", []spill{
		{"pippin_bls12_377_g2_multiples", 80, 112, 148},
		{"pippin_bls12_377_g2_multiples", 90, 72, 108},
		{"pippin_bls12_381_g2_multiples", 80, 204, 228},
		{"pippin_bls12_381_g2_multiples", 90, 104, 140},
	}},
	{"registers are bounded so that three to five blocks share a multiprocessor; eight elements are 64 or 96 registers, " +
		"a factor and what a product has under way 50 or 70, and one element more or less in memory is cheaper than a block less", []spill{
		{"pippin_bls12_377_4_down", 90, 4, 8},
		{"pippin_bls12_377_8_down", 80, 260, 184},
		{"pippin_bls12_377_8_down", 90, 256, 180},
		{"pippin_bls12_377_8_up", 80, 220, 152},
		{"pippin_bls12_377_8_up", 90, 232, 176},
		{"pippin_bls12_381_4_down", 80, 8, 8},
		{"pippin_bls12_381_4_down", 90, 4, 4},
		{"pippin_bls12_381_8_down", 80, 432, 272},
		{"pippin_bls12_381_8_down", 90, 444, 288},
		{"pippin_bls12_381_8_up", 80, 136, 320},
		{"pippin_bls12_381_8_up", 90, 140, 320},
		{"pippin_bn254_4_down", 90, 8, 12},
		{"pippin_bn254_8_down", 80, 260, 184},
		{"pippin_bn254_8_down", 90, 264, 188},
		{"pippin_bn254_8_up", 80, 200, 136},
		{"pippin_bn254_8_up", 90, 220, 164},
		{"pippin_bw6_761_4_down", 80, 28, 28},
		{"pippin_bw6_761_4_down", 90, 56, 60},
		{"pippin_bw6_761_4_up", 80, 24, 24},
		{"pippin_bw6_761_4_up", 90, 44, 48},
		{"pippin_bw6_761_8_down", 80, 680, 440},
		{"pippin_bw6_761_8_down", 90, 696, 532},
		{"pippin_bw6_761_8_up", 80, 672, 680},
		{"pippin_bw6_761_8_up", 90, 664, 676},
	}},
	{"a product of GF(2^2048) and its middle half are 192 registers, a leaf's operands and product 64: " +
		"all that there are, and addresses", []spill{
		{"pippin_1024_binary_inverse", 90, 4, 4},
		{"pippin_2048_binary_inverse", 80, 128, 132},
		{"pippin_2048_binary_inverse", 90, 100, 116},
		{"pippin_2048_binary_mul", 80, 120, 128},
		{"pippin_2048_binary_mul", 90, 232, 244},
	}},
	{"20 samples of a number, of p and of its columns are 120 registers, a square's columns and those " +
		"exchanged 80 more; kept in memory between products", []spill{
		{"pippin_1024_1_power", 80, 32, 48},
		{"pippin_1024_1_power", 90, 16, 20},
		{"pippin_1536_2_power", 80, 52, 88},
		{"pippin_1536_2_power", 90, 64, 128},
		{"pippin_4096_4_power", 80, 160, 320},
		{"pippin_4096_4_power", 90, 80, 160},
	}},
	{"registers are bounded so that two to four blocks share a multiprocessor: a sum, the point to add " +
		"and a product are as many or more, and a product's table is made in calls, once for a hundred doublings", []spill{
		{"pippin_bn254_g1_product", 80, 80, 100},
		{"pippin_bn254_g2_product", 80, 256, 260},
		{"pippin_bls12_377_g1_product", 80, 240, 244},
		{"pippin_bls12_377_g2_product", 80, 1952, 2840},
		{"pippin_bls12_381_g1_product", 80, 236, 240},
		{"pippin_bls12_381_g2_product", 80, 1936, 2824},
		{"pippin_bw6_761_g1_product", 80, 1772, 2600},
		{"pippin_bn254_g2_fixed", 80, 48, 48},
		{"pippin_bls12_377_g1_fixed", 80, 32, 32},
		{"pippin_bls12_377_g2_fixed", 80, 544, 812},
		{"pippin_bls12_381_g1_fixed", 80, 32, 32},
		{"pippin_bls12_381_g2_fixed", 80, 560, 828},
		{"pippin_bw6_761_g1_fixed", 80, 500, 784},
		{"pippin_bls12_377_g1_check_points", 80, 8, 8},
		{"pippin_bls12_377_g2_check_points", 80, 1080, 2236},
		{"pippin_bls12_381_g2_check_points", 80, 1088, 2244},
		{"pippin_bw6_761_g1_check_points", 80, 984, 2016},
		{"pippin_bw6_761_g2_check_points", 80, 984, 2016},
		{"pippin_bn254_g2_check_points", 80, 60, 60},
		{"pippin_bn254_g1_product", 90, 44, 84},
		{"pippin_bn254_g2_product", 90, 256, 268},
		{"pippin_bls12_377_g1_product", 90, 244, 256},
		{"pippin_bls12_377_g2_product", 90, 1832, 2688},
		{"pippin_bls12_381_g1_product", 90, 224, 236},
		{"pippin_bls12_381_g2_product", 90, 1844, 2712},
		{"pippin_bw6_761_g1_product", 90, 1680, 2480},
		{"pippin_bn254_g2_fixed", 90, 100, 40},
		{"pippin_bls12_377_g1_fixed", 90, 132, 72},
		{"pippin_bls12_377_g2_fixed", 90, 492, 760},
		{"pippin_bls12_381_g1_fixed", 90, 124, 64},
		{"pippin_bls12_381_g2_fixed", 90, 540, 808},
		{"pippin_bw6_761_g1_fixed", 90, 484, 768},
		{"pippin_bn254_g2_check_points", 90, 112, 112},
		{"pippin_bls12_377_g2_check_points", 90, 1084, 2236},
		{"pippin_bls12_381_g2_check_points", 90, 1084, 2236},
		{"pippin_bw6_761_g1_check_points", 90, 988, 2020},
		{"pippin_bw6_761_g2_check_points", 90, 988, 2020},
		{"pippin_bn254_g2_row_windows", 80, 76, 60},
		{"pippin_bn254_g1_row_windows", 80, 68, 56},
		{"pippin_bls12_377_g1_row_windows", 80, 116, 92},
		{"pippin_bls12_381_g1_row_windows", 80, 116, 92},
		{"pippin_bls12_377_g2_row_windows", 80, 660, 836},
		{"pippin_bls12_381_g2_row_windows", 80, 672, 848},
		{"pippin_bw6_761_g1_row_windows", 80, 528, 684},
		{"pippin_bn254_g2_row_windows", 90, 76, 60},
		{"pippin_bn254_g1_row_windows", 90, 92, 76},
		{"pippin_bls12_377_g1_row_windows", 90, 140, 108},
		{"pippin_bls12_381_g1_row_windows", 90, 140, 108},
		{"pippin_bls12_377_g2_row_windows", 90, 668, 844},
		{"pippin_bls12_381_g2_row_windows", 90, 656, 832},
		{"pippin_bw6_761_g1_row_windows", 90, 524, 680},
	}},
	{"Jacobian points over Fp2 or of 24 words are 72 registers each, a product in a call 100 or 150 " +
		"more; and a few words over calls, in code that is not hot", []spill{
		{"pippin_bls12_377_g2_seeds", 80, 224, 316},
		{"pippin_bls12_377_g2_table", 80, 188, 280},
		{"pippin_bls12_381_g2_seeds", 80, 196, 268},
		{"pippin_bls12_381_g2_table", 80, 172, 248},
		{"pippin_bw6_761_g1_seeds", 80, 76, 76},
		{"pippin_bw6_761_g1_table", 80, 84, 84},
		{"pippin_bn254_g2_combine", 80, 56, 56},
		{"pippin_bls12_377_g2_add_ranges", 80, 160, 216},
		{"pippin_bls12_377_g2_combine", 80, 648, 1124},
		{"pippin_bls12_377_g2_normalise", 80, 184, 184},
		{"pippin_bls12_377_g2_sum_rows", 80, 116, 112},
		{"pippin_bls12_381_g2_add_ranges", 80, 172, 240},
		{"pippin_bls12_381_g2_combine", 80, 616, 996},
		{"pippin_bls12_381_g2_normalise", 80, 264, 264},
		{"pippin_bls12_381_g2_sum_rows", 80, 116, 112},
		{"pippin_bw6_761_g1_add_ranges", 80, 116, 116},
		{"pippin_bw6_761_g1_combine", 80, 608, 940},
		{"pippin_bw6_761_g1_sum_rows", 80, 112, 112},
		{"pippin_bls12_377_g2_seeds", 90, 216, 308},
		{"pippin_bls12_377_g2_table", 90, 176, 256},
		{"pippin_bls12_381_g2_seeds", 90, 204, 284},
		{"pippin_bls12_381_g2_table", 90, 168, 240},
		{"pippin_bw6_761_g1_seeds", 90, 88, 88},
		{"pippin_bw6_761_g1_table", 90, 84, 84},
		{"pippin_bn254_g2_combine", 90, 40, 40},
		{"pippin_bls12_377_g2_add_ranges", 90, 184, 264},
		{"pippin_bls12_377_g2_combine", 90, 640, 1092},
		{"pippin_bls12_377_g2_normalise", 90, 208, 208},
		{"pippin_bls12_377_g2_sum_rows", 90, 192, 264},
		{"pippin_bls12_381_g2_add_ranges", 90, 360, 536},
		{"pippin_bls12_381_g2_combine", 90, 624, 1028},
		{"pippin_bls12_381_g2_normalise", 90, 160, 160},
		{"pippin_bls12_381_g2_sum_rows", 90, 328, 480},
		{"pippin_bw6_761_g1_add_ranges", 90, 104, 104},
		{"pippin_bw6_761_g1_combine", 90, 608, 924},
		{"pippin_bw6_761_g1_sum_rows", 90, 120, 120},
		{"pippin_bls12_377_g2_join_sums", 80, 456, 552},
		{"pippin_bls12_377_g2_row_multiples", 80, 664, 716},
		{"pippin_bls12_381_g2_join_sums", 80, 492, 616},
		{"pippin_bls12_381_g2_row_multiples", 80, 692, 744},
		{"pippin_bw6_761_g1_join_sums", 80, 236, 236},
		{"pippin_bw6_761_g1_row_multiples", 80, 572, 592},
		{"pippin_bls12_377_g2_join_sums", 90, 472, 576},
		{"pippin_bn254_g2_row_multiples", 90, 36, 36},
		{"pippin_bls12_377_g2_row_multiples", 90, 696, 760},
		{"pippin_bls12_381_g2_join_sums", 90, 472, 584},
		{"pippin_bls12_381_g2_row_multiples", 90, 668, 732},
		{"pippin_bw6_761_g1_join_sums", 90, 232, 232},
		{"pippin_bw6_761_g1_row_multiples", 90, 572, 596},
		{"pippin_bls12_377_g1_decode", 90, 4, 4},
		{"pippin_bls12_377_g2_decode", 90, 8, 16},
		{"pippin_bls12_381_g1_decode", 80, 4, 4},
		{"pippin_bls12_381_g1_decode", 90, 8, 8},
	}},
	{"a few words over calls, or in one warp's inversion, in code that is not hot", []spill{
		{"pippin_wide_power", 80, 24, 16},
		{"pippin_wide_power", 90, 28, 20},
		{"pippin_wide_power_begin", 90, 12, 16},
		{"pippin_wide_residue", 80, 4, 4},
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
