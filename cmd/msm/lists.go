package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/bench"
	"github.com/pippin-zk/pippin/fixtures"
)

// parseList reads a comma-separated list of values, or "all" for all of them
// where there is such a thing. Repeated values count once.
func parseList[T comparable](flag, s string, all []T, parse func(string) (T, error)) ([]T, error) {
	if strings.EqualFold(strings.TrimSpace(s), "all") && all != nil {
		return all, nil
	}
	var list []T
	for part := range strings.SplitSeq(s, ",") {
		v, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, usageError{fmt.Errorf("--%s: %w", flag, err)}
		}
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list, nil
}

// names is how a flag's help lists its values.
func names[T fmt.Stringer](all []T) string {
	var s []string
	for _, v := range all {
		s = append(s, v.String())
	}
	return strings.Join(s, ", ") + "; lists, all"
}

func parseCurves(s string) ([]backend.Curve, error) {
	return parseList("curve", s, backend.Curves(), backend.ParseCurve)
}

func parseGroups(s string) ([]backend.Group, error) {
	return parseList("group", s, backend.Groups(), backend.ParseGroup)
}

func parseSizes(s string) ([]int, error) { return parseList("size", s, nil, bench.ParseSize) }

func parseDistributions(s string) ([]fixtures.Distribution, error) {
	return parseList("distribution", s, fixtures.Distributions(), fixtures.ParseDistribution)
}

func parseBackends(s string) ([]string, error) {
	return parseList("backend", s, nil, func(s string) (string, error) {
		if s == "" {
			return "", fmt.Errorf("%w: an empty name", backend.ErrInvalidInput)
		}
		return s, nil
	})
}

func parsePaths(s string) ([]bench.Path, error) {
	if strings.EqualFold(s, "both") {
		return []bench.Path{bench.Copy, bench.Arena}, nil
	}
	return parseList("path", s, nil, func(s string) (bench.Path, error) {
		if p := bench.Path(strings.ToLower(s)); p == bench.Copy || p == bench.Arena {
			return p, nil
		}
		return "", fmt.Errorf("%w: unknown path %q (copy, arena, both)", backend.ErrInvalidInput, s)
	})
}

// oneOf checks the value of a flag that has a few.
func oneOf(flag, s string, choices ...string) error {
	if !slices.Contains(choices, s) {
		return usageError{fmt.Errorf("--%s %q: choose one of %s", flag, s, strings.Join(choices, ", "))}
	}
	return nil
}
