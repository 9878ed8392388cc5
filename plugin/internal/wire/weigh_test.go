package wire

import (
	"bytes"
	"testing"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// TestWeigh: what is small on the wire and large in memory is refused before it is
// decoded, what a host sends is not, and the weight grows with what is decoded.
func TestWeigh(t *testing.T) {
	r := backend.Range{Space: 1, Offset: 2, Count: 1 << 20}
	full := make([]backend.Step, MaxSteps)
	region := &proto.Region{Arena: 1, Offset: 8, Length: 1 << 20}
	req := &proto.RunRequest{Call: 1}
	for i := range full {
		full[i] = backend.Gather{Dst: r, Src: r, Index: r}
		req.Places = append(req.Places, &proto.Place{Step: uint32(i), Bytes: region, Progress: region})
	}
	marshal := func(steps []backend.Step) []byte {
		t.Helper()
		req.Program = backend.EncodeSteps(steps)
		b, err := wireformat.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := marshal(full)
	weight, err := Weigh(&proto.RunRequest{}, b)
	if least := int64(MaxSteps * (stepBytes + 3*partBytes)); err != nil || weight < least || weight > 2*least {
		t.Errorf("a full program of %d bytes: %d, %v", len(b), weight, err)
	}
	if _, err := Weigh(&proto.RunRequest{}, marshal(append(full, full[0]))); err == nil {
		t.Error("a step too many is accepted")
	}
	small, err := Weigh(&proto.RunRequest{}, marshal(full[:1]))
	if more, merr := Weigh(&proto.RunRequest{}, marshal(full[:2])); err != nil || merr != nil || more < small+stepBytes {
		t.Errorf("a step more: %d after %d, %v, %v", more, small, err, merr)
	}
	const long = 10_000
	constants, err := Weigh(&proto.RunRequest{}, marshal([]backend.Step{backend.Map{Constants: make([]byte, long)}}))
	if err != nil || constants < small+long*programBytes {
		t.Errorf("%d bytes more weigh %d after %d, %v", long, constants, small, err)
	}
	for what, b := range map[string][]byte{
		"empty places":         bytes.Repeat([]byte{3<<3 | 2, 0}, MaxMessage/2),
		"steps that never end": {2<<3 | 2, 4, 0xff, 0xff, 0xff, 0x7f},
		"steps without bytes":  {2<<3 | 2, 2, 100, 1},
		"a program of nothing": {2<<3 | 2, 0},
		"a broken tag":         {0xff},
		"a broken field":       {2<<3 | 2, 5, 0},
		"no field":             {0},
	} {
		if weight, err := Weigh(&proto.RunRequest{}, b); err == nil {
			t.Errorf("%s are accepted: %d bytes weigh %d", what, len(b), weight)
		}
	}
	devices := bytes.Repeat([]byte{3<<3 | 2, 0}, MaxMessage/2)
	if _, err := Weigh(&proto.OpenReply{}, devices); err == nil {
		t.Errorf("%d bytes of empty devices are accepted", len(devices))
	}
	// Packed numbers: one byte each on the wire.
	const many = 1000
	one, err := wireformat.Marshal(&proto.Capabilities{Numbers: make([]uint32, many)})
	if weight, werr := Weigh(&proto.Capabilities{}, one); err != nil || werr != nil || weight < packedBytes*many {
		t.Errorf("packed numbers: %d, %v, %v", weight, err, werr)
	}
}
