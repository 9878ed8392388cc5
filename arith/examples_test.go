package arith_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"math/big"
	"math/bits"
	"slices"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/engine"
)

// must returns v, or ends the example.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Sign a batch with one RSA-2048 key, by the Chinese remainder theorem. The
// factors stay where the backend computes; crypto/rsa verifies each signature.
func ExampleCalculator_ExpModCRT() {
	ctx := context.Background()
	engine := must(pippin.New(ctx, engine.Config{Backend: "cpu"}))
	defer engine.Close()

	key := must(rsa.GenerateKey(rand.Reader, 2048))
	size, half := key.Size(), 4*key.Size() // bytes, bits
	digests := make([][sha256.Size]byte, 5)
	padded := arith.Make(8*size, len(digests))
	// RFC 8017, section 9.2: 0, 1, bytes of 0xff, 0, the name of SHA-256, the digest.
	name := []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20}
	for i := range digests {
		digests[i] = sha256.Sum256(fmt.Appendf(nil, "message %d", i))
		end := slices.Concat([]byte{0}, name, digests[i][:])
		ones := bytes.Repeat([]byte{0xff}, size-2-len(end))
		if err := padded.SetBytes(i, slices.Concat([]byte{0, 1}, ones, end)); err != nil {
			log.Fatal(err)
		}
	}
	secret := func(v *big.Int) *arith.Numbers { return must(arith.FromBytes(half, v.Bytes())) }
	crt := arith.CRT{
		P: secret(key.Primes[0]), Q: secret(key.Primes[1]),
		DP: secret(key.Precomputed.Dp), DQ: secret(key.Precomputed.Dq), QInv: secret(key.Precomputed.Qinv),
		E: uint32(key.E), // each signature is checked before it is answered
	}
	for _, n := range []*arith.Numbers{crt.P, crt.Q, crt.DP, crt.DQ, crt.QInv} {
		defer n.Free() // wipes it
	}

	signed := must(arith.On(engine, arith.Options{}).ExpModCRT(ctx, padded, crt))
	for i, d := range digests {
		fmt.Println(rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, d[:], signed.Bytes(i)))
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
}

// Agree on secrets by Diffie and Hellman's method in the 2048-bit group 14 of RFC 3526.
// How long a batch takes does not depend on the exponents.
func ExampleCalculator_ExpMod_diffieHellman() {
	ctx := context.Background()
	engine := must(pippin.New(ctx, engine.Config{Backend: "cpu"}))
	defer engine.Close()

	const size, secretSize = 2048, 256 // bits
	prime, _ := new(big.Int).SetString("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74"+
		"020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B"+
		"0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"+
		"83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3BE39E772C180E8603"+
		"9B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA051015728E5A8AACAA68FFFFFFFFFFFFFFFF", 16)
	modulus, generator := must(arith.FromBig(size, prime)), must(arith.FromBig(size, big.NewInt(2)))
	secrets := func() *arith.Numbers {
		n := arith.Make(secretSize, 3)
		for i := range n.Len() {
			n.Set(i, must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), secretSize))))
		}
		return n
	}
	alice, bob := secrets(), secrets()
	defer alice.Free()
	defer bob.Free()

	c := arith.On(engine, arith.Options{})
	fromAlice := must(c.ExpMod(ctx, generator, alice, modulus))
	fromBob := must(c.ExpMod(ctx, generator, bob, modulus))
	atAlice := must(c.ExpMod(ctx, fromBob, alice, modulus))
	defer atAlice.Free()
	atBob := must(c.ExpMod(ctx, fromAlice, bob, modulus))
	defer atBob.Free()

	want := new(big.Int).Exp(big.NewInt(2), new(big.Int).Mul(alice.Big(0), bob.Big(0)), prime)
	fmt.Println(atAlice.Len(), slices.Equal(atAlice.Words, atBob.Words), atAlice.Big(0).Cmp(want) == 0)
	// Output: 3 true true
}

// Add up integers of 65,536 bits that do not fit into memory together: part by part,
// in memory that the backend reads where it is. Only the sum of a part is answered.
func ExampleCalculator_Sum() {
	ctx := context.Background()
	engine := must(pippin.New(ctx, engine.Config{Backend: "cpu"}))
	defer engine.Close()

	const size, sumSize, part = 65536, 65536 + 32, 8 // a sum of up to 2^32 integers
	numbers := must(arith.New(ctx, engine, size, part))
	defer numbers.Free()
	c := arith.On(engine, arith.Options{})
	sum, want := new(big.Int), new(big.Int)
	for i := range 3 {
		for k := range part { // 2^65535 + i*part + k
			v := new(big.Int).Lsh(big.NewInt(1), size-1)
			numbers.Set(k, v.Add(v, big.NewInt(int64(i*part+k))))
			want.Add(want, numbers.Big(k))
		}
		sum.Add(sum, must(c.Sum(ctx, numbers, sumSize)).Big(0))
	}
	fmt.Println(sum.BitLen(), new(big.Int).And(sum, big.NewInt(1<<32-1)), sum.Cmp(want) == 0)
	// Output: 65540 276 true
}

// Authenticate messages as AES-GCM does. GHASH is a polynomial over GF(2^128); one
// program evaluates it for all messages together, a block at a time. The tags are
// compared with crypto/cipher's.
func ExampleRepeat() {
	ctx := context.Background()
	engine := must(pippin.New(ctx, engine.Config{Backend: "cpu"}))
	defer engine.Close()

	const count, blocks = 20, 3 // messages, blocks of 16 bytes of each
	block := must(aes.NewCipher([]byte("sixteen byte key")))
	gcm := must(cipher.NewGCM(block))
	h := make([]byte, 16)
	block.Encrypt(h, h)
	secret := arith.Make(128, 1)
	defer secret.Free()
	toElement(secret.At(0), h)

	length := binary.BigEndian.AppendUint64(make([]byte, 8), 128*blocks)
	inputs := make([]*arith.Numbers, blocks+1)
	for k := range inputs {
		inputs[k] = arith.Make(128, count)
	}
	sealed, nonces := make([][]byte, count), make([][]byte, count)
	for i := range sealed {
		nonces[i] = binary.BigEndian.AppendUint64(make([]byte, 4), uint64(i))
		sealed[i] = gcm.Seal(nil, nonces[i], bytes.Repeat([]byte{byte(i)}, 16*blocks), nil)
		for k := range blocks {
			toElement(inputs[k].At(i), sealed[i][16*k:])
		}
		toElement(inputs[blocks].At(i), length)
	}

	var hashes *arith.Numbers
	_, err := arith.Repeat(ctx, engine, 2*arith.Words(128, count)+arith.Words(128, 1), func(ctx context.Context, s *arith.Session) error {
		y, err1 := s.New(128, count)
		x, err2 := s.New(128, count)
		key, err3 := s.New(128, 1)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		p := s.Program()
		p.Write(key, secret)
		for _, in := range inputs {
			p.Write(x, in)
			p.GFAdd(128, y, y, x)
			p.GFMul(128, y, y, key)
		}
		hashes = p.Read(y)
		return p.Run(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	right := 0
	for i := range sealed {
		mask := append(bytes.Clone(nonces[i]), 0, 0, 0, 1)
		block.Encrypt(mask, mask)
		tag := fromElement(hashes.At(i))
		for k := range tag {
			tag[k] ^= mask[k]
		}
		if bytes.Equal(tag, sealed[i][16*blocks:]) {
			right++
		}
	}
	fmt.Println(right, "of", count, "tags are AES-GCM's")
	// Output: 20 of 20 tags are AES-GCM's
}

// toElement writes a block as words of an element. GCM's first bit, the highest of
// the first byte, is the coefficient of x^0.
func toElement(words []uint32, block []byte) {
	for i := range words {
		words[i] = bits.Reverse32(binary.BigEndian.Uint32(block[4*i:]))
	}
}

// fromElement returns the block of an element, as the inverse of toElement.
func fromElement(words []uint32) (block []byte) {
	for _, w := range words {
		block = binary.BigEndian.AppendUint32(block, bits.Reverse32(w))
	}
	return block
}
