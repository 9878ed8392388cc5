package wire

import (
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
)

// The suite that seals witnesses, by RFC 9180. Each seal makes a new key and wraps it for the
// workers. Somebody who records the sealed bytes cannot unwrap the key later with a quantum
// computer.
var (
	kem  = hpke.MLKEM768X25519()
	kdf  = hpke.HKDFSHA256()
	aead = hpke.AES256GCM()
)

// NewSealing makes the two keys of a cluster's workers, in base64: seal encrypts witnesses, open
// decrypts them.
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

// ReadSealing decodes a key that seals. Call it once for all witnesses: it takes a seventh of the
// time of sealing a small one.
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

// Seal compresses a witness and encrypts it for one job.
func (s *SealingKey) Seal(id string, w Work, plain []byte) ([]byte, error) {
	packed := s2.Encode(nil, plain)
	defer clear(packed)
	return hpke.Seal(s.k, kdf, aead, info(id, w), packed)
}

// ReadOpening decodes a key that opens. Call it once for all witnesses: it takes nearly as long as
// opening a small one.
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

// ErrSealed is wrapped by the error of a witness that was sealed with another cluster's key or for
// another job.
var ErrSealed = errors.New("the witness was not sealed for this job and this worker: are the client's " +
	"ticket and the worker's of one cluster?")

// fingerprintKey names the fingerprint of the sealing key in the metadata of the stream of notes.
const fingerprintKey = "pippin_seal"

// Fingerprint returns the fingerprint of a sealing key.
func Fingerprint(seal string) string {
	sum := sha256.Sum256([]byte(seal))
	return hex.EncodeToString(sum[:])
}

// Fingerprint returns the fingerprint of the sealing key that belongs to o.
func (o *OpeningKey) Fingerprint() string {
	return Fingerprint(base64.StdEncoding.EncodeToString(o.k.PublicKey().Bytes()))
}

// SetFingerprint writes the cluster's fingerprint into the configuration of the stream of notes. If
// the given one is empty, it keeps the old one. It returns the old one, or "" if there was none.
func SetFingerprint(cfg *jetstream.StreamConfig, old map[string]string, fingerprint string) string {
	if fingerprint == "" {
		fingerprint = old[fingerprintKey]
	}
	if fingerprint != "" {
		cfg.Metadata = map[string]string{fingerprintKey: fingerprint}
	}
	return old[fingerprintKey]
}

// checkFingerprint compares the fingerprint of a ticket's key with the cluster's. It accepts any
// ticket if the cluster has none.
func checkFingerprint(cluster, ticket string) error {
	if cluster != "" && cluster != ticket {
		return fmt.Errorf("%w: the ticket's key for witnesses is another cluster's: copy the ticket from the server's folder again",
			backend.ErrInvalidInput)
	}
	return nil
}

// Open returns the witness that was sealed for the job. The caller wipes it. The error wraps
// ErrSealed if the client's or the worker's key belongs to another cluster. If size is not
// negative, Open refuses a witness of another number of bytes before it takes memory for it, with
// backend.ErrInvalidInput.
func (o *OpeningKey) Open(id string, w Work, sealed []byte, size int) ([]byte, error) {
	packed, err := hpke.Open(o.k, kdf, aead, info(id, w), sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	defer clear(packed)
	if n, err := s2.DecodedLen(packed); err == nil && size >= 0 && n != size {
		return nil, fmt.Errorf("%w: the witness has %d bytes, those of its circuit have %d", backend.ErrInvalidInput, n, size)
	}
	plain, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("%w: the witness: %w", backend.ErrInvalidInput, err)
	}
	return plain, nil
}

func badKey(err error) error {
	return fmt.Errorf("%w: the ticket's key for witnesses: %w", backend.ErrInvalidInput, err)
}

// info returns the data that binds a sealed witness to its job, so that it cannot be opened for
// another job.
func info(id string, w Work) []byte {
	text, err := json.Marshal(struct {
		What, ID string
		Work     Work
	}{"pippin witness 1", id, w})
	if err != nil {
		panic(err) // cannot happen: there are only strings and booleans
	}
	return text
}
