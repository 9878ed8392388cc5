// Command smoke lists the CUDA devices. Package driver's tests start it with
// and without a driver.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

func main() {
	library := flag.String("library", "", "the driver's library (default: libcuda.so.1)")
	flag.Parse()
	if err := list(*library); err != nil {
		fmt.Fprintln(os.Stderr, "smoke:", err)
		if errors.Is(err, backend.ErrUnavailable) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func list(library string) error {
	if library != "" {
		if err := driver.InitLibrary(library); err != nil {
			return err
		}
	}
	devices, err := driver.Devices()
	if err != nil {
		return err
	}
	for _, d := range devices {
		fmt.Printf("%d: %v, %s\n", d.Ordinal, d, d.UUID)
	}
	return nil
}
