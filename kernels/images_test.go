package kernels

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func compiled(digest string, archs ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, a := range archs {
		files["sm_"+a+"/manifest.json"] = &fstest.MapFile{Data: []byte(`{"digest": "` + digest + `", "units": []}`)}
		files["sm_"+a+"/msm/sort.fatbin"] = &fstest.MapFile{Data: []byte("code for " + a)}
	}
	return files
}

// TestImage checks that a device gets the code of the highest architecture that it runs.
func TestImage(t *testing.T) {
	files := compiled(digest, "80", "86", "90", "120")
	// Code that was built from other sources is not there.
	for name, f := range compiled("0123", "89") {
		files[name] = f
	}
	for on, want := range map[[2]int]string{{8, 0}: "80", {8, 6}: "86", {8, 9}: "86", {9, 0}: "90", {12, 1}: "120"} {
		if got, err := image(files, "msm/sort", on[0], on[1]); err != nil || string(got) != "code for "+want {
			t.Errorf("on %v: %q, %v; want that of %s", on, got, err, want)
		}
	}
}

// TestNoImage checks that the error says what to do where there is no code.
func TestNoImage(t *testing.T) {
	unfinished := compiled(digest, "90")
	delete(unfinished, "sm_90/manifest.json")
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		unit  string
		major int
		want  string
	}{
		{"another card", compiled(digest, "80", "90"), "msm/sort", 12, "make kernels ARCH=120"},
		{"an older card", compiled(digest, "80", "90"), "msm/sort", 7, "only for sm_80, sm_90"},
		{"built without the tag", nil, "msm/sort", 9, "make plugin-cuda"},
		{"stale code", compiled("0123", "90"), "msm/sort", 9, "make kernels ARCH=90"},
		{"a build that did not end", unfinished, "msm/sort", 9, "make plugin-cuda"},
		{"a unit that is not there", compiled(digest, "90"), "msm/tensor", 9, "no msm/tensor for sm_90"},
	} {
		if b, err := image(c.files, c.unit, c.major, 0); !errors.Is(err, ErrNoCode) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", c.name, b, err)
		}
	}
}
