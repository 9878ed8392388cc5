package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// kinds pairs what errors.Is can tell with its number and its status code.
var kinds = []struct {
	err  error
	kind proto.Kind
	code codes.Code
}{
	{backend.ErrUnavailable, proto.Kind_KIND_UNAVAILABLE, codes.FailedPrecondition},
	{backend.ErrUnsupported, proto.Kind_KIND_UNSUPPORTED, codes.Unimplemented},
	{backend.ErrOutOfMemory, proto.Kind_KIND_OUT_OF_MEMORY, codes.ResourceExhausted},
	{backend.ErrClosed, proto.Kind_KIND_CLOSED, codes.FailedPrecondition},
	{backend.ErrGone, proto.Kind_KIND_GONE, codes.Aborted},
	{backend.ErrInternal, proto.Kind_KIND_INTERNAL, codes.Internal},
	{backend.ErrInvalidInput, proto.Kind_KIND_INVALID_INPUT, codes.InvalidArgument},
	{context.Canceled, proto.Kind_KIND_CANCELED, codes.Canceled},
	{context.DeadlineExceeded, proto.Kind_KIND_DEADLINE_EXCEEDED, codes.DeadlineExceeded},
}

// toFailure is a backend's error as the plugin sends it. An error of no known kind
// breaks the contract, so the backend is not to be trusted any more.
func toFailure(err error) (*proto.Failure, codes.Code) {
	text := err.Error()
	failure := &proto.Failure{}
	code := codes.Unknown
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			if len(failure.Kinds) == 0 {
				code = k.code
			}
			failure.Kinds = append(failure.Kinds, k.kind)
		}
	}
	if len(failure.Kinds) == 0 {
		text = fmt.Sprintf("%v: unexpected error of the backend: %s", backend.ErrGone, text)
		failure.Kinds, code = []proto.Kind{proto.Kind_KIND_GONE}, codes.Aborted
	}
	failure.Text = strings.ToValidUTF8(text[:min(len(text), maxText)], "?")
	return failure, code
}

// toStatus is an error as gRPC sends it.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	failure, code := toFailure(err)
	st, serr := status.New(code, failure.Text).WithDetails(failure)
	if serr != nil {
		return status.Error(codes.Aborted, failure.Text)
	}
	return st.Err()
}

// remoteError is an error that a plugin returned on purpose.
type remoteError struct {
	text string
	errs []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.errs }

func (e *remoteError) is(kind error) bool { return slices.Contains(e.errs, kind) }

// fromStatus finds what toStatus sent; false is a failure of the transport.
func fromStatus(err error) (*remoteError, bool) {
	st, ok := status.FromError(err)
	if !ok {
		return nil, false
	}
	for _, d := range st.Details() {
		if f, ok := d.(*proto.Failure); ok {
			return fromFailure(f)
		}
	}
	return nil, false
}

// fromFailure is the error that a failure tells; false is none of a plugin's.
func fromFailure(f *proto.Failure) (*remoteError, bool) {
	e := &remoteError{text: clean(f.GetText(), "\n\t", maxText)}
	for _, k := range kinds {
		if slices.Contains(f.GetKinds(), k.kind) {
			e.errs = append(e.errs, k.err)
		}
	}
	return e, len(e.errs) > 0
}
