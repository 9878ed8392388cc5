package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// line is what a record says of a package and a time.
type line struct {
	Date       string   `json:"date"`
	Commit     string   `json:"commit"`
	Busy       int      `json:"busy_processes"`
	Processors int      `json:"processors"`
	Time       int      `json:"time"`
	Package    string   `json:"package"`
	Passed     bool     `json:"passed"`
	Seconds    float64  `json:"seconds"`
	Failed     []string `json:"failed"`
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// tested is a package that go test has ended.
type tested struct {
	name    string
	passed  bool
	seconds float64
	failed  []string // tests
	said    string   // by tests that failed, and by a package that did
}

// running is a package of which tests run.
type running struct {
	said    map[string]*strings.Builder // by test that has begun and not passed; "" is the package
	started []string
	failed  []string
}

// packagesOf returns the packages of what go test -json has printed, in the order in which
// they ended. Lines that are no events are passed over.
func packagesOf(out []byte) (ended []tested) {
	packages := make(map[string]*running)
	for text := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(text, &e) != nil || e.Package == "" {
			continue
		}
		p := packages[e.Package]
		if p == nil {
			p = &running{said: map[string]*strings.Builder{"": {}}}
			packages[e.Package] = p
		}
		if done := p.see(e); done != nil {
			ended = append(ended, *done)
		}
	}
	return ended
}

// see takes an event in, and returns the package when it has ended.
func (p *running) see(e event) *tested {
	switch {
	case e.Action == "output":
		if b := p.said[e.Test]; b != nil {
			b.WriteString(e.Package + " " + e.Test + ": " + e.Output)
		}
	case e.Test != "" && e.Action == "run":
		p.said[e.Test] = new(strings.Builder)
		p.started = append(p.started, e.Test)
	case e.Test != "" && (e.Action == "pass" || e.Action == "skip"):
		delete(p.said, e.Test)
		p.end(e.Test)
	case e.Test != "" && e.Action == "fail":
		p.failed = append(p.failed, e.Test)
		p.end(e.Test)
	case e.Test == "" && e.Action == "pass":
		return &tested{name: e.Package, passed: true, seconds: e.Elapsed, failed: []string{}}
	case e.Test == "" && e.Action == "fail":
		// Of a process that ended itself the tests that ran then have no end.
		done := &tested{name: e.Package, seconds: e.Elapsed, failed: slices.Concat([]string{}, p.failed, p.started)}
		for _, test := range append([]string{""}, done.failed...) {
			done.said += p.said[test].String()
		}
		return done
	}
	return nil
}

// end notes that a test runs no longer.
func (p *running) end(test string) {
	p.started = slices.DeleteFunc(p.started, func(s string) bool { return s == test })
}
