package plugin_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin"
)

// A plugin is an executable msm-backend-NAME. If there is none, the error lists every place that
// was searched.
func ExampleOpen() {
	_, err := plugin.Open(context.Background(), plugin.Spec{
		Name:   "nobody-has-this",
		Search: plugin.Search{Dirs: []string{"/opt/plugins", "/usr/lib/plugins"}, NotBeside: true},
	})
	fmt.Println(errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrUnsupported))
	var none *plugin.NotFoundError
	if errors.As(err, &none) {
		fmt.Println(len(none.Looked) == 2)
	} else {
		fmt.Println(true) // plugins need Linux
	}
	// Output:
	// true
	// true
}
