package wire

import (
	"crypto/hpke"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"

	"github.com/pippin-zk/pippin/backend"
)

// The suite that witnesses are sealed with, by RFC 9180: each seal makes a key of its
// own and wraps it for the workers. The wrapping stays closed to whoever keeps the
// bytes until there are quantum computers.
var (
	kem  = hpke.MLKEM768X25519()
	kdf  = hpke.HKDFSHA256()
	aead = hpke.AES256GCM()
)

// NewSealing makes the two keys of a cluster's workers, as text: with the first
// witnesses are sealed, with the second opened.
func NewSealing() (seal, open string, err error) {
	k, err := kem.GenerateKey()
	if err != nil {
		return "", "", err
	}
	private, err := k.Bytes()
	if err != nil {
		return "", "", err
	}
	return base64.StdEncoding.EncodeToString(k.PublicKey().Bytes()), base64.StdEncoding.EncodeToString(private), nil
}

// Seal compresses and encrypts a witness for one job.
func Seal(key, id string, w Work, plain []byte) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, badKey(err)
	}
	k, err := kem.NewPublicKey(raw)
	if err != nil {
		return nil, badKey(err)
	}
	packed := s2.Encode(nil, plain)
	defer clear(packed)
	return hpke.Seal(k, kdf, aead, info(id, w), packed)
}

// Opens refuses what is no key to open witnesses with.
func Opens(key string) error {
	_, err := opening(key)
	return err
}

func opening(key string) (hpke.PrivateKey, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, badKey(err)
	}
	defer clear(raw)
	k, err := kem.NewPrivateKey(raw)
	if err != nil {
		return nil, badKey(err)
	}
	return k, nil
}

// ErrSealed is wrapped by the error of a witness that was sealed for others.
var ErrSealed = errors.New("the witness was not sealed for this job and this worker: are the client's ticket and the worker's of one cluster?")

// Open is the witness that was sealed for the job. The caller wipes it. It fails with
// ErrSealed when it is the client's or the worker's key that is another cluster's.
func Open(key, id string, w Work, sealed []byte) ([]byte, error) {
	k, err := opening(key)
	if err != nil {
		return nil, err
	}
	packed, err := hpke.Open(k, kdf, aead, info(id, w), sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	defer clear(packed)
	plain, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("%w: the witness: %w", backend.ErrInvalidInput, err)
	}
	return plain, nil
}

func badKey(err error) error {
	return fmt.Errorf("%w: the ticket's key for witnesses: %w", backend.ErrInvalidInput, err)
}

// info binds a witness to its job: moved to another one it does not open.
func info(id string, w Work) []byte {
	text, err := json.Marshal(struct {
		What, ID string
		Work     Work
	}{"pippin witness 1", id, w})
	if err != nil {
		panic(err) // strings and booleans
	}
	return text
}
