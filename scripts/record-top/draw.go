//go:build linux

package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The measures of a picture, in points.
const (
	cellWidth  = 7.8
	lineHeight = 17.0
	edge       = 14.0
	lastStays  = 3 * time.Second
)

// draw writes frames as a moving SVG: a strip of them behind a window, moved by CSS.
func draw(w io.Writer, frames []frame) {
	height := lineHeight * float64(topRows+1+said)
	width := cellWidth * columns
	whole := frames[len(frames)-1].at + lastStays
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">
<style>
text { font: 13px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d0d7de; white-space: pre }
.bad { fill: #ff9d5c } .name { fill: #79c0ff }
#strip { transform: translateY(%.0fpx); animation: strip %.2fs step-end infinite }
@media (prefers-reduced-motion: reduce) { #strip { animation: none } }
@keyframes strip {
`, width+2*edge, height+2*edge, width+2*edge, height+2*edge, -height*float64(still(frames)), whole.Seconds())
	for i, f := range frames {
		at := f.at
		if i == 0 {
			at = 0
		}
		fmt.Fprintf(w, "%.3f%% { transform: translateY(%.0fpx) }\n", 100*at.Seconds()/whole.Seconds(), -height*float64(i))
	}
	fmt.Fprintf(w, `}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<svg x="%.0f" y="%.0f" width="%.0f" height="%.0f">
<line x1="0" x2="%.0f" y1="%.1f" y2="%.1f" stroke="#30363d"/>
<g id="strip">
`, edge, edge, width, height, width, lineHeight*(topRows+0.5), lineHeight*(topRows+0.5))
	for i, f := range frames {
		for row, line := range f.lines {
			if line = strings.TrimRight(line, " "); line == "" {
				continue
			}
			if r := []rune(line); len(r) > columns {
				line = string(r[:columns])
			}
			fmt.Fprintf(w, `<text x="0" y="%.0f"%s>`, height*float64(i)+lineHeight*(float64(row)+0.75), class(row, line))
			_ = xml.EscapeText(w, []byte(line)) // as w's writer does
			fmt.Fprintln(w, "</text>")
		}
	}
	fmt.Fprint(w, "</g>\n</svg>\n</svg>\n")
}

// isKill reports whether the server says that it kills the plugin.
func isKill(line string) bool { return strings.Contains(line, "killing") }

// class returns how a line is drawn: what is wrong, and the names of columns, differ from the
// rest.
func class(row int, line string) string {
	switch {
	case strings.Contains(line, "restarted: "):
	case strings.HasPrefix(line, "DEGRADED"), strings.HasPrefix(line, "fell back"), isKill(line), strings.Contains(line, "gone: "),
		strings.Contains(line, "  broken "):
		return ` class="bad"`
	case row == 0, strings.HasPrefix(line, "backend  "), strings.HasPrefix(line, "device  "), strings.HasPrefix(line, "phase  "):
		return ` class="name"`
	}
	return ""
}

// still returns the frame to be seen where nothing moves: the last change of the screen that
// shows the first kill as the newest, or the last frame.
func still(frames []frame) int {
	found := -1
	for i, f := range frames {
		for row := len(f.lines) - 1; row > topRows; row-- {
			if f.lines[row] == "" {
				continue
			}
			if isKill(strings.Join(f.lines[max(topRows+1, row-2):row+1], " ")) {
				found = i
			}
			break
		}
		if found >= 0 && found < i {
			break
		}
	}
	if found < 0 {
		return len(frames) - 1
	}
	return found
}
