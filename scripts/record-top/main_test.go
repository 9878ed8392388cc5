//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestScreens: a screen is what stands between two controls, however it arrives.
func TestScreens(t *testing.T) {
	const sent = "\x1b[?1049h\x1b[?25l" + home + "one" + endOfLine + "\r\ntwo" + endOfAll + home + "three" + endOfAll + home + "never"
	for _, from := range []io.Reader{strings.NewReader(sent), iotest.OneByteReader(strings.NewReader(sent))} {
		var got [][]string
		if err := screens(from, func(s []string) { got = append(got, s) }); err != nil {
			t.Fatal(err)
		}
		if want := [][]string{{"one", "two"}, {"three"}}; !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	wrong := errors.New("wrong")
	if err := screens(iotest.ErrReader(wrong), nil); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
}

// TestFrames: what does not change makes no frame, and neither numbers nor paths of processes
// are in one.
func TestFrames(t *testing.T) {
	r := &recorder{}
	r.say("before anything is seen")
	for range 3 {
		r.show([]string{"pippin", "backend  state"})
	}
	r.say("  1.00 s  killing the plugin")
	r.say("  1.10 s    gone: plugin:cpu: it ended during a call; process 7 (/home/someone/msm-backend-cpu): killed")
	r.show([]string{"pippin <again>"})
	if len(r.frames) != 4 {
		t.Fatalf("%d frames: %v", len(r.frames), r.frames)
	}
	for i, f := range r.frames {
		f.at = time.Duration(i) * time.Second
		if text := strings.Join(f.lines, "\n"); strings.Contains(text, "someone") || len(f.lines) != topRows+1+said {
			t.Errorf("%d lines: %s", len(f.lines), text)
		}
	}
	if got := still(r.frames); got != 3 {
		t.Errorf("without motion it is frame %d", got)
	}
	if got := still(r.frames[:1]); got != 0 {
		t.Errorf("without a kill it is frame %d of one", got)
	}
	var picture bytes.Buffer
	draw(&picture, r.frames)
	var texts []string
	for d := xml.NewDecoder(&picture); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.StartElement); ok && s.Name.Local == "text" {
			var text string
			if err := d.DecodeElement(&text, &s); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	if !slices.Contains(texts, "pippin <again>") || !slices.Contains(texts, "  1.00 s  killing the plugin") {
		t.Errorf("%q", texts)
	}
	for line, want := range map[string]string{"  killing the plugin": "bad", "    gone: plugin:cpu": "bad", "DEGRADED: x": "bad",
		"  restarted: plugin:cpu: backend gone: it ended": "", "backend  state": "name", "cpu  ready": ""} {
		if got := class(3, line); got != "" != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q is drawn as %q, want %q", line, got, want)
		}
	}
}
