// Package text makes what a plugin says fit for a terminal and a log: nothing in it
// can move a cursor or forge a line, and its length is bounded.
package text

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Max bounds the text of a plugin's error, in bytes.
const Max = 4 << 10

// Clean makes a plugin's text fit for a terminal and a log: control
// characters, invalid UTF-8 and what is not printable become escapes as in Go,
// and what is longer than most bytes is cut. Runes in keep stay.
func Clean(s, keep string, most int) string {
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

// Line cleans one line of a log, or a name.
func Line(s string, most int) string { return Clean(s, "\t", most) }

// Error is another error, its text cleaned.
type Error struct{ Err error }

func (e Error) Error() string { return Clean(e.Err.Error(), "\n\t", Max) }
func (e Error) Unwrap() error { return e.Err }
