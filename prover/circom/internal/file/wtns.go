package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// The types of a witness's sections.
const (
	witnessHeader = 1
	witnessValues = 2
)

// scalarBytes is the size of a value on either curve.
const scalarBytes = 32

// Witness returns the curve of a witness and its values, which share memory with b. They are
// numbers, not in Montgomery form, and not compared with r.
func Witness(b []byte) (backend.Curve, []byte, error) {
	c, err := open(bytes.NewReader(b), int64(len(b)), "wtns", witnessValues)
	if err != nil {
		return 0, nil, err
	}
	size, err := c.start(witnessHeader, 4)
	if err != nil {
		return 0, nil, err
	}
	if n := number(size); n != scalarBytes {
		return 0, nil, c.refuse("values of %d bytes, should have %d", n, scalarBytes)
	}
	at, err := c.need(witnessHeader, 4+scalarBytes+4)
	if err != nil {
		return 0, nil, err
	}
	head := b[at.Offset : at.Offset+at.Size]
	r, count := integer(head[4:4+scalarBytes]), number(head[4+scalarBytes:])
	for _, of := range Curves {
		if r.Cmp(of.ScalarField()) != 0 {
			continue
		}
		at, err := c.need(witnessValues, int64(count)*scalarBytes)
		if err != nil {
			return 0, nil, err
		}
		return of, b[at.Offset : at.Offset+at.Size], nil
	}
	return 0, nil, c.refuse("different wtns curve: r = %v", r)
}

// WitnessBytes returns the size of the file that WitnessFile makes of a number of values.
func WitnessBytes(values int) int {
	return headBytes + 2*sectionBytes + 4 + scalarBytes + 4 + values*scalarBytes
}

// WitnessFile returns a witness with values of a curve as a file.
func WitnessFile(c backend.Curve, values []byte) []byte {
	put32, put64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	b := make([]byte, 0, WitnessBytes(len(values)/scalarBytes))
	b = put32(put32(append(b, "wtns"...), 2), 2) // version, sections
	b = put64(put32(b, witnessHeader), 4+scalarBytes+4)
	r := c.ScalarField().FillBytes(make([]byte, scalarBytes))
	slices.Reverse(r)
	b = put32(append(put32(b, scalarBytes), r...), uint32(len(values)/scalarBytes))
	return append(put64(put32(b, witnessValues), uint64(len(values))), values...)
}

// ReadAll reads until the end. What it grows out of is wiped.
func ReadAll(from io.Reader) ([]byte, error) {
	b := make([]byte, 0, 1<<16)
	for {
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			clear(b[:cap(b)])
			return nil, err
		}
		if len(b) == cap(b) {
			longer := make([]byte, len(b), 2*cap(b))
			copy(longer, b)
			clear(b)
			b = longer
		}
	}
}
