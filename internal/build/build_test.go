package build

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Path: "example.com/x", Version: "v1.2.3"}}
	if b, want := of(info), (Info{"example.com/x", "v1.2.3", ""}); b != want {
		t.Errorf("%+v", b)
	}
	info.Main.Version = "v0.0.0-20261124000034-f790087dbf2e"
	if c := of(info).Commit; c != "f790087dbf2e" {
		t.Errorf("commit %q of a version that has one", c)
	}
	info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}
	if c := of(info).Commit; c != "abc" {
		t.Errorf("commit %q", c)
	}
	info.Settings[1].Value = "true"
	if c := of(info).Commit; c != "abc+dirty" {
		t.Errorf("commit %q", c)
	}
}

func TestMismatch(t *testing.T) {
	ours := Info{"example.com/x", "v1", "abc"}
	for _, its := range []Info{ours, {"example.com/y", "v1", "def"}, {"example.com/x", "v2", ""}} {
		if s := Mismatch(its, ours); s != "" {
			t.Errorf("%+v: %s", its, s)
		}
	}
	if s := Mismatch(Info{"example.com/x", "v1", "abc+dirty"}, ours); !strings.Contains(s, "abc+dirty") {
		t.Errorf("%q", s)
	}
	const long = "f790087dbf2eb055dc73984e9c090f07391c535f"
	if s := Mismatch(Info{"example.com/x", "v1", long[:12]}, Info{"example.com/x", "v1", long}); s != "" {
		t.Errorf("a commit of 12 digits: %s", s)
	}
	if s := Mismatch(Info{"example.com/x", "v1", long[:12]}, Info{"example.com/x", "v1", long + "+dirty"}); s == "" {
		t.Error("changed files go unnoticed")
	}
	if s := Mismatch(ours, Info{Module: "example.com/x"}); s != "" {
		t.Error(s)
	}
}
