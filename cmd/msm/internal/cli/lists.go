package cli

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/units"
)

// ParseList reads a comma-separated list of values, or "all" for all of them
// where there is such a thing. Repeated values count once.
func ParseList[T comparable](flag, s string, all []T, parse func(string) (T, error)) ([]T, error) {
	if strings.EqualFold(strings.TrimSpace(s), "all") && all != nil {
		return all, nil
	}
	var list []T
	for part := range strings.SplitSeq(s, ",") {
		v, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, usageError{fmt.Errorf("--%s: %w%s", flag, err, meant(part, Texts(all)))}
		}
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list, nil
}

// meant asks whether the nearest of some values was meant, "" where none is near.
func meant(value string, choices []string) string {
	best, least := "", 3
	for _, c := range choices {
		if d := distance(strings.ToLower(strings.TrimSpace(value)), c); d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// Texts returns values as the command line has them.
func Texts[T any](all []T) []string {
	var s []string
	for _, v := range all {
		s = append(s, fmt.Sprint(v))
	}
	return s
}

// Several is how the help of a flag says that it takes more than one value.
const Several = "; several with commas"

// Names returns the values of a flag as its help lists them.
func Names[T any](all []T) string {
	return strings.Join(Texts(all), ", ") + Several + ", or all"
}

// Completes lets shells complete the values of flags, given as a flag and its
// values, which may be in a list.
func Completes[T any](c *cobra.Command, flag string, all []T, more ...string) {
	choices := append(Texts(all), more...)
	err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var out []string
		for _, v := range choices {
			out = append(out, before+v)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	if err != nil {
		panic(err) // no such flag
	}
}

// BackendNames are those that need no folder.
var BackendNames = []string{"cpu", "reference", "cuda", "cuda:", "daemon", "daemon:", "plugin:"}

func ParseCurves(s string) ([]backend.Curve, error) {
	return ParseList("curve", s, backend.Curves(), backend.ParseCurve)
}

func ParseGroups(s string) ([]backend.Group, error) {
	return ParseList("group", s, backend.Groups(), backend.ParseGroup)
}

func ParseSizes(s string) ([]int, error) { return ParseList("size", s, nil, units.ParseSize) }

// anotherGPU is what follows the name of a backend in a list and is none: a GPU
// more, as in cuda:0,1.
var anotherGPU = regexp.MustCompile(`(cuda:[^, ]+) *, *(\d+(-\d+)?|GPU-[0-9A-Fa-f-]+) *(,|$)`)

func ParseBackends(s string) ([]string, error) {
	const comma = "\x00" // within a name
	for anotherGPU.MatchString(s) {
		s = anotherGPU.ReplaceAllString(s, "$1"+comma+"$2$4")
	}
	return ParseList("backend", s, nil, func(s string) (string, error) {
		s = strings.ReplaceAll(s, comma, ",")
		if s == "" {
			return "", fmt.Errorf("%w: an empty name", backend.ErrInvalidInput)
		}
		return s, nil
	})
}

var pathNames = []string{string(report.Copy), string(report.Arena), "both"}

func parsePaths(s string) ([]report.Path, error) {
	if strings.EqualFold(s, "both") {
		return []report.Path{report.Copy, report.Arena}, nil
	}
	return ParseList("path", s, nil, func(s string) (report.Path, error) {
		if p := report.Path(strings.ToLower(s)); p == report.Copy || p == report.Arena {
			return p, nil
		}
		return "", fmt.Errorf("%w: unknown path %q (copy, arena, both)%s", backend.ErrInvalidInput, s, meant(s, pathNames))
	})
}

// OneOf checks the value of a flag that has a few.
func OneOf(flag, s string, choices ...string) error {
	if !slices.Contains(choices, s) {
		return usageError{fmt.Errorf("--%s %q: choose one of %s%s", flag, s, strings.Join(choices, ", "), meant(s, choices))}
	}
	return nil
}

// Digits returns a number with three digits or more.
func Digits(v float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(v, 1e-9))))), v)
}
