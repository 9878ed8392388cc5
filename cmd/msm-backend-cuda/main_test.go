package main

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		device, memory, stages string
		want                   cuda.Options
		bad                    bool
	}{
		{want: cuda.Options{}},
		{device: "1,2", memory: "24GiB", want: cuda.Options{Devices: "1,2", Memory: 24 << 30}},
		{memory: "512MiB", want: cuda.Options{Memory: 512 << 20}},
		{device: "-1", bad: true},
		{device: "gpu", bad: true},
		{memory: "lots", bad: true},
		{stages: "1"},
		{stages: "0"},
		{stages: "yes", bad: true},
	} {
		env := map[string]string{
			"PIPPIN_GPU_DEVICES": c.device, "PIPPIN_GPU_MEMORY": c.memory, "PIPPIN_GPU_STAGES": c.stages, "PIPPIN_GPU_TUNING": "some file",
		}
		got, err := options(func(k string) string { return env[k] })
		if c.bad != errors.Is(err, backend.ErrUnavailable) || c.bad != (err != nil) {
			t.Errorf("%v: error %v", env, err)
		}
		if !c.bad && (got.Devices != c.want.Devices || got.Memory != c.want.Memory || got.Tuning != "some file" ||
			(got.Trace != nil) != (c.stages == "1")) {
			t.Errorf("%v: %+v, want %+v", env, got, c.want)
		}
	}
}
