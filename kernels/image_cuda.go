//go:build cuda

package kernels

import (
	"embed"
	"fmt"
)

//go:embed fatbin/*.fatbin
var images embed.FS

// Image is a unit's compiled code, for the driver to load.
func Image(unit string) ([]byte, error) {
	b, err := images.ReadFile("fatbin/" + unit + ".fatbin")
	if err != nil {
		return nil, fmt.Errorf("kernels: no compiled unit %q: %w", unit, err)
	}
	return b, nil
}
