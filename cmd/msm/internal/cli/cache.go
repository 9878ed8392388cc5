package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/files"
	"github.com/pippin-zk/pippin/internal/units"
)

// cacheState is what msm cache says.
type cacheState struct {
	Folder  string             `json:"folder"`
	Bytes   uint64             `json:"bytes"`
	Free    uint64             `json:"free_bytes,omitempty"` // on its disk
	Entries []bench.CacheEntry `json:"entries"`
}

func (a *App) cacheCommand() *cobra.Command {
	var dir, format, older string
	c := &cobra.Command{
		Use:   "cache",
		Short: "List what bench keeps between runs, or clear it",
		Long: `List the points and keys that msm bench keeps between runs, which of them was used
when, and how much room they take. What is cleared is made again when it is needed.`,
		Example: `  msm cache
  msm cache clear
  msm cache clear --older 30d`,
		Args: NoArguments,
		RunE: func(*cobra.Command, []string) error { return a.listCache(dir, format) },
	}
	clear := &cobra.Command{
		Use:   "clear",
		Short: "Remove what bench keeps between runs",
		Args:  NoArguments,
		RunE:  func(*cobra.Command, []string) error { return a.clearCache(dir, older, format) },
	}
	c.PersistentFlags().StringVar(&dir, "cache", "", cacheHelp)
	AddFormat(c, &format, Formats)
	AddFormat(clear, &format, Formats)
	clear.Flags().StringVar(&older, "older", "0s", "only what was not used for so long: 30d, 12h")
	c.AddCommand(clear)
	return c
}

// cacheHelp says what the flag --cache is.
const cacheHelp = "folder that keeps points and keys between runs (default $PIPPIN_CACHE or the user's cache folder)"

// CacheDir returns the folder that the flag --cache names, or else the default.
func (a *App) CacheDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := a.Getenv("PIPPIN_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", usageError{fmt.Errorf("no folder for the cache: %w; name one with --cache", err)}
	}
	return filepath.Join(dir, "pippin"), nil
}

func (a *App) listCache(flag, format string) error {
	if err := OneOf("format", format, Formats...); err != nil {
		return err
	}
	var s cacheState
	var err error
	if s.Folder, err = a.CacheDir(flag); err != nil {
		return err
	}
	s.Entries, err = bench.Cached(s.Folder)
	for _, e := range s.Entries {
		s.Bytes += e.Bytes
	}
	s.Free, _ = a.room(s.Folder)
	if format == "json" {
		if s.Entries == nil {
			s.Entries = []bench.CacheEntry{}
		}
		return errors.Join(err, WriteJSON(a.Stdout, s))
	}
	return errors.Join(err, writeCache(a.Stdout, s, time.Now()))
}

func writeCache(w io.Writer, s cacheState, now time.Time) error {
	columns := []table.Column{
		{Head: "kept", Keep: table.Never}, {Head: "what", Keep: 0}, {Head: "size", Keep: table.Never}, {Head: "used", Keep: table.Never},
	}
	var rows [][]string
	for _, e := range s.Entries {
		rows = append(rows, []string{e.Name, e.What, units.FormatBytes(e.Bytes), Ago(now.Sub(e.Used))})
	}
	if len(rows) > 0 {
		if err := table.Write(w, table.Fit(w), false, columns, rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	line := fmt.Sprintf("%s in %s", units.FormatBytes(s.Bytes), s.Folder)
	if s.Free > 0 {
		line += fmt.Sprintf(", %s free", units.FormatBytes(s.Free))
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// Ago says how long ago something was, roughly.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// cleared is what msm cache clear writes as JSON.
type cleared struct {
	Folder  string `json:"folder"`
	Removed int    `json:"removed"`
	Kept    int    `json:"kept"`
	Freed   uint64 `json:"freed_bytes"`
}

func (a *App) clearCache(flag, older, format string) error {
	if err := OneOf("format", format, Formats...); err != nil {
		return err
	}
	age, err := parseAge(older)
	if err != nil {
		return usageError{fmt.Errorf("--older: %w", err)}
	}
	dir, err := a.CacheDir(flag)
	if err != nil {
		return err
	}
	all, err := bench.Cached(dir)
	before := time.Now().Add(-age)
	stays := func(e bench.CacheEntry) bool { return e.Busy() || e.Used.After(before) }
	old := slices.DeleteFunc(slices.Clone(all), stays)
	var freed uint64
	removed := 0
	for _, e := range old {
		if e := e.Remove(); e != nil {
			err = errors.Join(err, e)
			continue
		}
		freed += e.Bytes
		removed++
	}
	text := func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d of %d removed from %s, %s\n", removed, len(all), dir, units.FormatBytes(freed))
		return err
	}
	return errors.Join(err, TableOr(format, text, func(w io.Writer) error {
		return WriteJSON(w, cleared{dir, removed, len(all) - removed, freed})
	})(a.Stdout))
}

// parseAge reads a time, also in days.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no age, write 30d or 12h", s)
	}
	return d, nil
}

// room returns the bytes that are free for a folder.
func (a *App) room(dir string) (uint64, bool) {
	if a.Free != nil {
		return a.Free(dir)
	}
	return files.Free(dir)
}

// announced is the size from which on is said what is written to the cache.
const announced = 32 << 20

// checkDisk says where and how much will be written, and refuses what does not fit.
func (a *App) checkDisk(of writing) error {
	bytes, dir, err := of.Writes()
	if err != nil {
		return err
	}
	free, known := a.room(dir)
	if known && bytes > free {
		return usageError{fmt.Errorf("not enough disk: %s of points to be written to %s, %s free; choose "+
			"a smaller --size or another folder with --cache, or see what msm cache lists",
			units.FormatBytes(bytes), dir, units.FormatBytes(free))}
	}
	if bytes >= announced {
		room := ""
		if known {
			room = fmt.Sprintf(", where %s are free", units.FormatBytes(free))
		}
		fmt.Fprintf(a.Stderr, "msm: %s of points go to %s%s; msm cache lists and clears them\n", units.FormatBytes(bytes), dir, room)
	}
	return nil
}
