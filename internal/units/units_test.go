package units

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{
		{"1", 1}, {"1000000", 1000000}, {"2^0", 1}, {"2^26", 1 << 26}, {"2^28", 1 << 28}, {" 2^16 ", 1 << 16},
		{"1<<20", 1 << 20}, {"3<<4", 48}, {"1Ki", 1024}, {"1Mi", 1 << 20}, {"256Mi", 1 << 28}, {"268435456", 1 << 28},
	} {
		if got, err := ParseSize(c.in); err != nil || got != c.want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{
		"", "0", "-1", "+1", "1.5", "2^", "^3", "2^-1", "2^+1", "2^29", "2^64", "2^9999999999999999999", "3^4", "1<<", "<<3",
		"0<<3", "1<<29", "1<<64", "257Mi", "1Gi", "Mi", "1M", "1k", "1e6", "0x10", "268435457", "18446744073709551616", "1 000",
	} {
		if got, err := ParseSize(in); !errors.Is(err, backend.ErrInvalidInput) || got != 0 {
			t.Errorf("ParseSize(%q) = %d, %v; want ErrInvalidInput", in, got, err)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int]string{0: "0", 1: "1", 512: "512", 1024: "2^10", 1 << 26: "2^26", 1000000: "1000000", 1<<20 + 1: "1048577"} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"2^26", "1<<20", "1000000", "1Mi", "2^64", "-1", "1<<63", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			if !errors.Is(err, backend.ErrInvalidInput) || n != 0 {
				t.Fatalf("ParseSize(%q) = %d, %v", s, n, err)
			}
			return
		}
		if n < 1 || n > backend.MaxCount {
			t.Fatalf("ParseSize(%q) = %d", s, n)
		}
		if again, err := ParseSize(FormatSize(n)); err != nil || again != n {
			t.Fatalf("%d is written %q and read back as %d, %v", n, FormatSize(n), again, err)
		}
	})
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB",
		3 << 19: "1.5 MiB", 64 << 26: "4.0 GiB", 1 << 60: "1048576.0 TiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{"1024": 1024, "24GiB": 24 << 30, "1.5 GiB": 3 << 29,
		" 512MiB ": 512 << 20, "2KiB": 2048, "1TiB": 1 << 40} {
		if got, err := ParseBytes(s); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "GiB", "-1", "0", "24GB", "NaN", "1e30TiB", "many"} {
		if got, err := ParseBytes(s); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}
