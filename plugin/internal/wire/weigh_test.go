package wire

import (
	"bytes"
	"testing"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// TestWeigh: what is small on the wire and large in memory is refused before it is
// decoded, what a host sends is not, and the weight grows with what is decoded.
func TestWeigh(t *testing.T) {
	full := &proto.RunRequest{Call: 1}
	for range MaxSteps {
		r := &proto.Range{Space: 1, Offset: 2, Count: 1 << 20}
		full.Steps = append(full.Steps, &proto.Step{Step: &proto.Step_Gather{Gather: &proto.Gather{Dst: r, Src: r, Index: r}}})
	}
	b, err := wireformat.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	weight, err := Weigh(&proto.RunRequest{}, b)
	if least := int64(MaxSteps * 5 * partBytes); err != nil || weight < least || weight > 2*least {
		t.Errorf("a full program of %d bytes: %d, %v", len(b), weight, err)
	}
	empty := bytes.Repeat([]byte{2<<3 | 2, 0}, MaxSteps+1) // empty steps
	if _, err := Weigh(&proto.RunRequest{}, empty); err == nil {
		t.Errorf("%d bytes of empty steps are accepted", len(empty))
	}
	devices := bytes.Repeat([]byte{3<<3 | 2, 0}, MaxMessage/2)
	if _, err := Weigh(&proto.OpenReply{}, devices); err == nil {
		t.Errorf("%d bytes of empty devices are accepted", len(devices))
	}
	// Packed numbers: one byte each on the wire.
	code := make([]byte, 1000)
	one, err := wireformat.Marshal(&proto.Map{Code: make([]uint32, 1000)})
	if weight, werr := Weigh(&proto.Map{}, one); err != nil || werr != nil || weight < int64(packedBytes*len(code)) {
		t.Errorf("packed numbers: %d, %v, %v", weight, err, werr)
	}
	for _, nonsense := range [][]byte{{0xff}, {2<<3 | 2, 5, 0}, {0}} {
		if _, err := Weigh(&proto.RunRequest{}, nonsense); err == nil {
			t.Errorf("%x is accepted", nonsense)
		}
	}
}
