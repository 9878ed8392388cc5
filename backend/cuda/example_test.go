package cuda_test

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda"
)

// A new plugin opens it in its process, and so does a program that may crash with its GPU.
func ExampleOpen() {
	b, err := cuda.Open(cuda.Options{})
	if errors.Is(err, backend.ErrUnavailable) {
		fmt.Println("no GPU, no driver, or compiled without the tag cuda:", err)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	for _, d := range b.Info().Devices {
		fmt.Println(d.Name)
	}
}
