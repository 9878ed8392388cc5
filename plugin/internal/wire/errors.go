package wire

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
	"github.com/pippin-zk/pippin/plugin/internal/text"
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

// ToFailure makes of a backend's error what the plugin sends. An error of no known kind
// breaks the contract, so the backend is not to be trusted any more.
func ToFailure(err error) (*proto.Failure, codes.Code) {
	said := err.Error()
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
		said = fmt.Sprintf("%v: unexpected error of the backend: %s", backend.ErrGone, said)
		failure.Kinds, code = []proto.Kind{proto.Kind_KIND_GONE}, codes.Aborted
	}
	failure.Text = strings.ToValidUTF8(said[:min(len(said), text.Max)], "?")
	return failure, code
}

// ToStatus makes of an error what gRPC sends.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	failure, code := ToFailure(err)
	st, serr := status.New(code, failure.Text).WithDetails(failure)
	if serr != nil {
		return status.Error(codes.Aborted, failure.Text)
	}
	return st.Err()
}

// RemoteError is an error that a plugin returned on purpose.
type RemoteError struct {
	Text  string
	Kinds []error // what errors.Is can tell
}

func (e *RemoteError) Error() string   { return e.Text }
func (e *RemoteError) Unwrap() []error { return e.Kinds }

// Is reports whether the error is of a kind.
func (e *RemoteError) Is(kind error) bool { return slices.Contains(e.Kinds, kind) }

// FromStatus finds what ToStatus has sent. false is a failure of the transport.
func FromStatus(err error) (*RemoteError, bool) {
	st, ok := status.FromError(err)
	if !ok {
		return nil, false
	}
	for _, d := range st.Details() {
		if f, ok := d.(*proto.Failure); ok {
			return FromFailure(f)
		}
	}
	return nil, false
}

// FromFailure returns the error that a failure tells. false is one that no plugin sends.
func FromFailure(f *proto.Failure) (*RemoteError, bool) {
	e := &RemoteError{Text: text.Clean(f.GetText(), "\n\t", text.Max)}
	for _, k := range kinds {
		if slices.Contains(f.GetKinds(), k.kind) {
			e.Kinds = append(e.Kinds, k.err)
		}
	}
	return e, len(e.Kinds) > 0
}

// Refused returns the error for a request that no correct host sends, or that this
// process cannot serve: whoever asked the host has done nothing wrong.
func Refused(format string, a ...any) error {
	return fmt.Errorf("%w: the plugin refused: "+format, append([]any{backend.ErrInternal}, a...)...)
}
