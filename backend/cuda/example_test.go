package cuda_test

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda"
)

// A plugin of one's own, or a program that may crash with its GPU, opens it in its process.
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
