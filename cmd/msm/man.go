//go:build man

package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/clusters"
	"github.com/pippin-zk/pippin/cmd/msm/internal/proving"
)

// Releases make the manual pages with this command, which programs do not have: what writes
// them is linked with the tag man alone, and so are all commands, whose pages they are.
func init() {
	link = append(link, proving.Link, clusters.Link, func(a *cli.App) { a.More = append(a.More, manCommand()) })
}

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write a manual page for each command, compressed",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(c *cobra.Command, args []string) error { return writeMan(c.Root(), args[0]) },
	}
}

// writeMan writes the same bytes for the same commit: the date is SOURCE_DATE_EPOCH's.
func writeMan(root *cobra.Command, dir string) error {
	date := time.Unix(0, 0).UTC()
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		date = time.Unix(seconds, 0).UTC()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "MSM", Section: "1", Source: "pippin",
		Manual: "pippin", Date: &date}, dir); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		if err := compress(page); err != nil {
			return err
		}
	}
	return nil
}

func compress(page string) (err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	f, err := os.Create(page + ".gz")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	return errors.Join(z.Close(), os.Remove(page))
}
