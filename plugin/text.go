package plugin

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText bounds the text of an error of a plugin, in bytes.
const maxText = 4 << 10

// clean makes a plugin's text fit for a terminal and a log: control
// characters, invalid UTF-8 and what is not printable become escapes as in Go,
// and what is longer than most bytes is cut. Runes in keep stay.
func clean(s, keep string, most int) string {
	var b strings.Builder
	for i, r := range s {
		one := string(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], one):
			one = `\x` + strconv.FormatUint(0x100|uint64(s[i]), 16)[1:]
		case !strconv.IsPrint(r) && !strings.ContainsRune(keep, r):
			one = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(one) > most {
			return b.String() + "..."
		}
		b.WriteString(one)
	}
	return b.String()
}

// cleanLine is clean for one line of a log, or a name.
func cleanLine(s string, most int) string { return clean(s, "\t", most) }

// cleanError says what another error says, as clean has it.
type cleanError struct{ error }

func (e cleanError) Error() string { return clean(e.error.Error(), "\n\t", maxText) }
func (e cleanError) Unwrap() error { return e.error }
