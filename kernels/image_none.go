//go:build !cuda

package kernels

import "errors"

// Image fails: only a build with the tag cuda carries compiled code.
func Image(string) ([]byte, error) {
	return nil, errors.New("kernels: this program was built without the tag cuda")
}
