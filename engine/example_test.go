package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// An engine swaps its backend while it is used. If the new one fails to open, it stays with the old
// one.
func ExampleEngine_Use() {
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Open: pippin.Opener(pippin.Options{}), Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	err = e.Use(ctx, "plugin:that-is-not-installed")
	fmt.Println(errors.Is(err, backend.ErrUnavailable), e.Backend())
	err = e.Use(ctx, "reference")
	fmt.Println(err, e.Backend())
	// Output:
	// true cpu
	// <nil> reference
}
