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

// SealingKey seals witnesses. It is safe for concurrent use.
type SealingKey struct{ k hpke.PublicKey }

// OpeningKey opens witnesses. It is safe for concurrent use.
type OpeningKey struct{ k hpke.PrivateKey }

// ReadSealing reads a key to seal with, once for all witnesses: that takes a seventh
// of the time of sealing a small one.
func ReadSealing(key string) (*SealingKey, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, badKey(err)
	}
	k, err := kem.NewPublicKey(raw)
	if err != nil {
		return nil, badKey(err)
	}
	return &SealingKey{k}, nil
}

// Seal compresses and encrypts a witness for one job.
func (s *SealingKey) Seal(id string, w Work, plain []byte) ([]byte, error) {
	packed := s2.Encode(nil, plain)
	defer clear(packed)
	return hpke.Seal(s.k, kdf, aead, info(id, w), packed)
}

// ReadOpening reads a key to open with, once for all witnesses: that takes nearly as
// long as opening a small one.
func ReadOpening(key string) (*OpeningKey, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, badKey(err)
	}
	defer clear(raw)
	k, err := kem.NewPrivateKey(raw)
	if err != nil {
		return nil, badKey(err)
	}
	return &OpeningKey{k}, nil
}

// ErrSealed is wrapped by the error of a witness that was sealed for others.
var ErrSealed = errors.New("the witness was not sealed for this job and this worker: are the client's ticket and the worker's of one cluster?")

// Open returns the witness that was sealed for the job. The caller wipes it. The error is
// ErrSealed if the client's or the worker's key belongs to another cluster.
func (o *OpeningKey) Open(id string, w Work, sealed []byte) ([]byte, error) {
	packed, err := hpke.Open(o.k, kdf, aead, info(id, w), sealed)
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
