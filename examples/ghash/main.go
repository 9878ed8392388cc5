// Command ghash authenticates many messages at once as AES-GCM does: GHASH is a
// polynomial over GF(2^128), evaluated for all messages together, a block at a time.
// The tags are compared with crypto/cipher's.
package main

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/bits"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

func main() {
	name := flag.String("backend", "cpu", "cpu, cuda, plugin:NAME")
	count := flag.Int("n", 1000, "messages")
	blocks := flag.Int("blocks", 16, "blocks of 16 bytes a message")
	flag.Parse()
	if err := run(context.Background(), *name, *count, *blocks); err != nil {
		log.Fatal(err)
	}
}

const size = 16 // bytes of a block

func run(ctx context.Context, name string, count, blocks int) (err error) {
	e, err := pippin.New(ctx, engine.Config{Backend: name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	sealed, nonces := make([][]byte, count), make([][]byte, count)
	for i := range sealed {
		nonces[i] = binary.BigEndian.AppendUint64(make([]byte, 4), uint64(i))
		plain := bytes.Repeat([]byte{byte(i)}, size*blocks)
		sealed[i] = gcm.Seal(nil, nonces[i], plain, nil)
	}
	h := make([]byte, size)
	block.Encrypt(h, h)
	hashes, err := ghash(ctx, e, h, sealed, blocks)
	if err != nil {
		return err
	}
	for i, tag := range hashes {
		mask := append(bytes.Clone(nonces[i]), 0, 0, 0, 1)
		block.Encrypt(mask, mask)
		for k := range tag {
			tag[k] ^= mask[k]
		}
		if !bytes.Equal(tag, sealed[i][size*blocks:]) {
			return fmt.Errorf("message %d: tag %x, crypto/cipher has %x", i, tag, sealed[i][size*blocks:])
		}
	}
	fmt.Printf("%d tags of %d blocks, all as crypto/cipher has them\n", count, blocks)
	return nil
}

// ghash is the hash of the first blocks of each message and of their length.
func ghash(ctx context.Context, e *engine.Engine, h []byte, messages [][]byte, blocks int) ([][]byte, error) {
	n := len(messages)
	length := make([]byte, size)
	binary.BigEndian.PutUint64(length[8:], uint64(8*size*blocks))
	inputs := make([]*arith.Numbers, blocks+1)
	for k := range inputs {
		inputs[k] = arith.Make(128, n)
		for i, m := range messages {
			if k < blocks {
				put(inputs[k].At(i), m[size*k:])
			} else {
				put(inputs[k].At(i), length)
			}
		}
	}
	secret := arith.Make(128, 1)
	defer secret.Free()
	put(secret.At(0), h)
	var sums *arith.Numbers
	ops := []backend.NumberOp{backend.NumGFAdd, backend.NumGFMul}
	if _, err := arith.Repeat(ctx, e, ops, func(ctx context.Context, s *arith.Session) error {
		y, err1 := s.New(ctx, 128, n)
		x, err2 := s.New(ctx, 128, n)
		key, err3 := s.New(ctx, 128, 1)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		p := s.Program()
		p.Write(key, secret)
		for _, in := range inputs {
			p.Write(x, in)
			p.Do(backend.NumGFAdd, y, arith.Operands{A: y, B: x, Degree: 128})
			p.Do(backend.NumGFMul, y, arith.Operands{A: y, B: key, Degree: 128})
		}
		sums = p.Read(y)
		return p.Run(ctx)
	}); err != nil {
		return nil, err
	}
	hashes := make([][]byte, n)
	for i := range hashes {
		hashes[i] = get(sums.At(i))
	}
	return hashes, nil
}

// put is a block as an element: GCM's first bit, the highest of the first byte, is
// the coefficient of x^0.
func put(words []uint32, block []byte) {
	for i := range words {
		words[i] = bits.Reverse32(binary.BigEndian.Uint32(block[4*i:]))
	}
}

// get is the reverse of put.
func get(words []uint32) (block []byte) {
	for _, w := range words {
		block = binary.BigEndian.AppendUint32(block, bits.Reverse32(w))
	}
	return block
}
