// Package inventory finds the backends of a machine and tries whether they open.
package inventory

import (
	"context"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/plugin"
)

// Backend is a backend that was found, with what it says of itself if it opens.
type Backend struct {
	record.BackendInfo
	Path     string `json:"path,omitempty"`
	Checksum string `json:"sha256,omitempty"`
	// Verified tells that the checksum is the one recorded beside the file, or that the
	// backend is part of this program.
	Verified bool   `json:"verified"`
	Opens    bool   `json:"opens"`
	Missing  bool   `json:"missing,omitempty"` // nothing of that name is installed
	Problem  string `json:"problem,omitempty"` // why it does not open
}

// Device is a device of a backend.
type Device struct {
	Backend string `json:"backend"`
	record.DeviceInfo
}

// inProcess lists the backends that need no plugin.
var inProcess = []string{"cpu", "reference"}

// OpenTimeout bounds the opening of one backend.
const OpenTimeout = 30 * time.Second

// List tries the backends of this program, the plugins, and the daemon if its socket is
// there. Without a plugin of that name it tries "cuda", which is missing if it does not
// open. explain makes one line of an error.
func List(ctx context.Context, open engine.Opener, plugins []plugin.Found, socket func() (path string, there bool),
	explain func(error) string) ([]Backend, error) {
	var all []Backend
	add := func(b Backend) *Backend {
		b.try(ctx, open, explain)
		all = append(all, b)
		return &all[len(all)-1]
	}
	for _, name := range inProcess {
		add(Backend{BackendInfo: record.BackendInfo{Name: name}, Verified: true})
	}
	for _, f := range plugins {
		b := Backend{BackendInfo: record.BackendInfo{Name: "plugin:" + f.Name}, Path: f.Path, Checksum: f.Checksum, Verified: f.Verified}
		if f.HiddenBy != "" {
			b.Name = "plugin:" + f.Path
		}
		if f.Problem != nil {
			b.Problem = explain(f.Problem)
		}
		add(b)
	}
	if !slices.ContainsFunc(plugins, func(f plugin.Found) bool { return f.Name == "cuda" }) {
		b := add(Backend{BackendInfo: record.BackendInfo{Name: "cuda"}})
		b.Missing = !b.Opens
	}
	if path, there := socket(); there {
		add(Backend{BackendInfo: record.BackendInfo{Name: "daemon"}, Path: path})
	}
	return all, ctx.Err()
}

// try opens a backend that has no problem yet, and closes it again.
func (b *Backend) try(ctx context.Context, open engine.Opener, explain func(error) string) {
	if b.Problem != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	opened, err := open(ctx, b.Name)
	if err != nil {
		b.Problem = explain(err)
		return
	}
	b.BackendInfo, b.Opens = record.Describe(b.Name, opened.Info()), true
	if err := opened.Close(); err != nil {
		b.Problem = "closing: " + explain(err)
	}
}

// Broken returns the backends that were found and do not open.
func Broken(all []Backend) []Backend {
	return slices.DeleteFunc(slices.Clone(all), func(b Backend) bool { return b.Opens || b.Missing })
}

// Devices returns the devices of the backends that open.
func Devices(all []Backend) []Device {
	devices := []Device{}
	for _, b := range all {
		for _, d := range b.Devices {
			devices = append(devices, Device{b.Name, d})
		}
	}
	return devices
}
