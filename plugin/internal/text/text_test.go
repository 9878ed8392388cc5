package text

import "testing"

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ü and \u4e16": "plain, ü and \u4e16",
		"a\nb\tc":             `a\nb` + "\tc",
		"\x1b[31m\x00\x7f":    `\x1b[31m\x00\x7f`,
		"\u009b1m\u202e":      `\u009b1m\u202e`,
		"\xff\xfe\ufffd":      `\xff\xfe` + "\ufffd",
		"'\\'":                `'\'`,
	} {
		if got := Line(in, 100); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := Clean("12345", "", 4); got != "1234..." {
		t.Errorf("cut: %q", got)
	}
	if got := Clean("123\x01", "", 4); got != "123..." {
		t.Errorf("cut before an escape: %q", got)
	}
}
