package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestGreeting: what a daemon says first is checked.
func TestGreeting(t *testing.T) {
	g, err := ReadGreeting(Greeting{2, 3, "no\x1b[2J"}.Bytes())
	if err != nil || g.Oldest != 2 || g.Newest != 3 || strings.Contains(g.Refusal, "\x1b") || g.Accept() == nil {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err := ReadGreeting(Greeting{1, 9, ""}.Bytes()); err != nil || g.Accept() != nil {
		t.Error(g, err)
	}
	for _, g := range []Greeting{{Oldest: ProtocolVersion + 1, Newest: ProtocolVersion + 2}, {Oldest: 1, Newest: ProtocolVersion - 1}} {
		if err := g.Accept(); err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("%+v: %v", g, err)
		}
	}
	// Hosts of the versions before and after at a daemon of this one.
	this := Greeting{Oldest: ProtocolVersion, Newest: ProtocolVersion}
	for _, version := range []uint32{ProtocolVersion - 1, ProtocolVersion + 1} {
		err := this.accept(version)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.HasSuffix(err.Error(), "install both from one release") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("a host of version %d: %v", version, err)
		}
	}
	if err := this.Accept(); err != nil {
		t.Error(err)
	}
	for _, b := range [][]byte{nil, []byte("HTTP/1.1 400 Bad Request"), make([]byte, 12), make([]byte, 5000)} {
		if _, err := ReadGreeting(b); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("%q: %v", b, err)
		}
	}
	if n := len(Greeting{2, 2, strings.Repeat("x", 5000)}.Bytes()); n != GreetingHead+MaxRefusal {
		t.Errorf("a long refusal makes %d bytes", n)
	}
}
