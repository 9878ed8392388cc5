// Command kzg commits to blobs with the setup of the Ethereum KZG ceremony,
// on every backend named, and compares the commitments with those of
// go-eth-kzg.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	goethkzg "github.com/crate-crypto/go-eth-kzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/examples/internal/demo"
)

func main() {
	backends := flag.String("backend", demo.Backends(), "backends to run on, separated by commas")
	plugins := flag.String("plugins", "", "folder with the plugins (default: the CPU plugin is built with the go command)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, strings.Split(*backends, ","), *plugins); err != nil {
		fmt.Fprintln(os.Stderr, "kzg:", err)
		os.Exit(1)
	}
}

// run prints one line for each blob and backend. A commitment that differs
// from go-eth-kzg's is an error.
func run(ctx context.Context, w io.Writer, backends []string, plugins string) error {
	dirs, remove, err := demo.PluginDirs(ctx, plugins, backends)
	if err != nil {
		return err
	}
	defer remove()

	points, err := lagrangePoints()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d Lagrange points of the Ethereum KZG ceremony, SHA-256 %s\n\n", len(points), ceremonyDigest)
	all := blobs()
	want, err := expected(all)
	if err != nil {
		return err
	}

	for _, name := range backends {
		e, err := pippin.New(ctx, engine.Config{
			Backend:   name,
			Fallbacks: []string{engine.NoFallback}, // so that it is this backend that answers
			Open:      pippin.Opener(pippin.Options{PluginDirs: dirs}),
		})
		if err != nil {
			return err
		}
		err = func() error {
			c, err := newCommitter(ctx, e, points, len(all))
			if err != nil {
				return err
			}
			defer c.close()
			start := time.Now()
			got, err := c.commit(ctx, all)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s: %d commitments in %v\n", name, len(got), time.Since(start).Round(time.Millisecond))
			return compare(w, all, got, want)
		}()
		if err := closeAfter(e, err); err != nil {
			return fmt.Errorf("backend %s: %w", name, err)
		}
	}
	fmt.Fprintf(w, "%d blobs on %d backends: all commitments equal go-eth-kzg's\n", len(all), len(backends))
	return nil
}

// expected computes the commitments with go-eth-kzg.
func expected(all []*namedBlob) ([]goethkzg.KZGCommitment, error) {
	ethereum, err := goethkzg.NewContext4096Secure()
	if err != nil {
		return nil, err
	}
	out := make([]goethkzg.KZGCommitment, len(all))
	for i, b := range all {
		if out[i], err = ethereum.BlobToKZGCommitment(&b.blob, 0); err != nil {
			return nil, fmt.Errorf("go-eth-kzg: %s: %w", b.name, err)
		}
	}
	return out, nil
}

// compare prints the commitments and fails when one differs.
func compare(w io.Writer, all []*namedBlob, got, want []goethkzg.KZGCommitment) error {
	wrong := 0
	for i, b := range all {
		verdict := "equal"
		if got[i] != want[i] {
			verdict = fmt.Sprintf("WRONG, go-eth-kzg has 0x%x", want[i])
			wrong++
		}
		fmt.Fprintf(w, "  %-22s0x%x  %s\n", b.name, got[i], verdict)
	}
	fmt.Fprintln(w)
	if wrong > 0 {
		return fmt.Errorf("%d of %d commitments differ from go-eth-kzg's", wrong, len(all))
	}
	return nil
}

func closeAfter(c io.Closer, err error) error {
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return err
}
