//go:build !linux

package main

import "errors"

func noMoreDescriptors() error { return errors.ErrUnsupported }

func littleMore(uint64) error { return errors.ErrUnsupported }
