package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	goethkzg "github.com/crate-crypto/go-eth-kzg"
)

// A namedBlob is a blob and what it is made of.
type namedBlob struct {
	name string
	blob goethkzg.Blob
}

// bytesPerValue is how much data fits into one field element whatever it is:
// 31 bytes, since r has 255 bits.
const bytesPerValue = fr.Bytes - 1

// blobs makes blobs as a rollup would post them, and the extremes beside
// them. All are the same in every run.
func blobs() []*namedBlob {
	rng := rand.New(rand.NewPCG(4844, 4096))
	var all []*namedBlob
	add := func(name string, value func(i int) fr.Element) {
		b := &namedBlob{name: name}
		for i := range goethkzg.ScalarsPerBlob {
			v := value(i)
			fr.BigEndian.PutElement((*[fr.Bytes]byte)(b.blob[i*fr.Bytes:]), v)
		}
		all = append(all, b)
	}

	uniform := func(int) fr.Element { return randomValue(rng, fr.Bytes+16) }
	add("random", uniform)
	add("compressed data", func(int) fr.Element { return randomValue(rng, bytesPerValue) })
	text := transactions(rng, goethkzg.ScalarsPerBlob*bytesPerValue)
	add("text", func(i int) fr.Element { return toValue(text[i*bytesPerValue:][:bytesPerValue]) })
	add("mostly zero", func(i int) fr.Element {
		if i%97 != 5 {
			return fr.Element{}
		}
		return uniform(i)
	})
	add("small numbers", func(int) fr.Element { return fr.NewElement(rng.Uint64N(1 << 16)) })
	add("one value everywhere", func(int) fr.Element { return fr.NewElement(0xb10b) })
	add("r-1 everywhere", func(int) fr.Element { return minusOne() })
	add("one-hot", func(i int) fr.Element {
		if i == 1234 {
			return fr.One()
		}
		return fr.Element{}
	})
	add("zero", func(int) fr.Element { return fr.Element{} })
	return all
}

// values reads a blob into field elements; one that is not below r is an
// error, as the specification wants it.
func values(out []fr.Element, b *goethkzg.Blob) error {
	for i := range out {
		if err := out[i].SetBytesCanonical(b[i*fr.Bytes:][:fr.Bytes]); err != nil {
			return fmt.Errorf("value %d of the blob: %w", i, err)
		}
	}
	return nil
}

// transactions returns size bytes of lines that look like a rollup's batch.
func transactions(rng *rand.Rand, size int) []byte {
	var s strings.Builder
	for nonce := 0; s.Len() < size; nonce++ {
		fmt.Fprintf(&s, `{"nonce":%d,"from":"0x%016x","to":"0x%016x","value":"%d","gas":21000}`+"\n",
			nonce, rng.Uint64(), rng.Uint64N(50), rng.Uint64N(1e12))
	}
	return []byte(s.String()[:size])
}

// randomValue returns n random bytes modulo r.
func randomValue(rng *rand.Rand, n int) fr.Element {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return toValue(b)
}

func toValue(b []byte) (v fr.Element) { v.SetBytes(b); return v }

func minusOne() (v fr.Element) { v.SetOne(); v.Neg(&v); return v }
