package inventory

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/plugin"
)

// closes is a backend that cannot be closed.
type closes struct{ backend.Backend }

func (closes) Close() error { return errors.New("it stays open") }

// TestList: each backend has its name, is opened unless something is known against it, and
// only what was found and does not open is broken.
func TestList(t *testing.T) {
	var opened []string
	open := func(_ context.Context, name string) (backend.Backend, error) {
		opened = append(opened, name)
		switch name {
		case "cuda", "plugin:closed":
			return nil, backend.ErrUnavailable
		case "daemon":
			return closes{cpu.New(cpu.Options{})}, nil
		}
		return cpu.New(cpu.Options{}), nil
	}
	plugins := []plugin.Found{
		{Name: "x", Path: "/a/x", Problem: errors.New("others can write")},
		{Name: "x", Path: "/b/x", HiddenBy: "/a/x", Verified: true}, {Name: "closed", Path: "/a/closed"},
	}
	socket := func() (string, bool) { return "/run/daemon", true }
	all, err := List(t.Context(), open, plugins, socket, error.Error)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		name           string
		opens, missing bool
		problem        string
	}
	var got []line
	for _, b := range all {
		got = append(got, line{b.Name, b.Opens, b.Missing, b.Problem})
	}
	none := backend.ErrUnavailable.Error()
	want := []line{
		{"cpu", true, false, ""}, {"reference", true, false, ""}, {"plugin:x", false, false, "others can write"},
		{"plugin:/b/x", true, false, ""},
		{"plugin:closed", false, false, none}, {"cuda", false, true, none}, {"daemon", true, false, "closing: it stays open"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nnot\n%+v", got, want)
	}
	if slices.Contains(opened, "plugin:x") {
		t.Error("what others can replace was started")
	}
	if b := Broken(all); len(b) != 2 || b[0].Name != "plugin:x" || b[1].Name != "plugin:closed" {
		t.Errorf("%+v", b)
	}
	if d := Devices(all); len(d) == 0 || d[0].Backend != "cpu" {
		t.Errorf("%+v", d)
	}
	nowhere := func() (string, bool) { return "", false }
	all, err = List(t.Context(), open, []plugin.Found{{Name: "cuda", Path: "/a/cuda"}}, nowhere, error.Error)
	if err != nil || len(all) != 3 || all[2].Name != "plugin:cuda" {
		t.Errorf("a plugin of that name: %+v, %v", all, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := List(ended, open, nil, nowhere, error.Error); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
